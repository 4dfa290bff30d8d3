#pragma once

/// Where a verb measures configurations of one campaign beside each other, in the campaign's own database.

#include <span>

#include "db/store.hpp"
#include "measure/machine/machine.hpp"
#include "space/fingerprint.hpp"
#include "tuner/campaign/finals/side_by_side.hpp"
#include "tuner/campaign/finals/whole_epochs.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"
#include "tuner/cli/measuring/progress_display.hpp"
#include "tuner/cli/measuring/signals.hpp"
#include "tuner/executor/local_executor.hpp"

namespace nocturne::cli {

/// One at a time: it listens for signals while it lives. Not thread-safe.
class Bench {
 public:
  /// All outlive it; `store` is open for writing. REQUIRES: missing_supervisor() is empty, the folders are made.
  Bench(const Context& context, const tuner::CampaignSpec& spec, db::Store& store, const measure::MachineFacts& machine,
        const tuner::Installation& installation);

  /// Blocks. See tuner::SideBySide::run.
  [[nodiscard]] db::Expected<tuner::SideBySideResult> measure(std::span<const space::Configuration> sides,
                                                              const tuner::SideBySideSettings& settings);

  /// Blocks. See tuner::train_whole_epochs.
  [[nodiscard]] db::Expected<tuner::WholeEpochsResult> train(const space::Configuration& configuration,
                                                             const tuner::WholeEpochsSettings& settings);

  [[nodiscard]] const tuner::Clock& clock() const { return clock_; }
  [[nodiscard]] bool interrupted() const { return interruption_.requested(); }
  /// Interrupted, or Terminated where SIGTERM was what ended it.
  [[nodiscard]] ExitCode interruption_code() const;

 private:
  [[nodiscard]] tuner::Sitting sitting();
  const tuner::CampaignSpec& spec_;
  db::Store& store_;
  space::Fingerprint fingerprint_;
  tuner::LocalExecutor executor_;
  ProgressDisplay display_;
  tuner::SystemClock clock_;
  tuner::Interruption interruption_;
  SignalWatch signals_;
};

}  // namespace nocturne::cli
