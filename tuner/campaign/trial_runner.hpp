#pragma once

/// Carries out the order of a trial on this machine: slot, preparation, runs, judgement.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "space/trial.hpp"
#include "tuner/campaign/session.hpp"
#include "tuner/executor/order.hpp"

namespace nocturne::tuner {

struct FinishedTrial {
  space::Trial trial;
  bool reused = false;  ///< an equal trial was known: nothing was run
};

class TrialRunner {
 public:
  explicit TrialRunner(const Session& session) : session_(session) {}

  /// Carries the order out. Its runs are stored as they end, so that a kill costs one run; its result is not:
  /// store_answer() does.
  [[nodiscard]] TrialAnswer execute(const TrialOrder& order);
  /// Both, for who measures one trial at a time. Empty: interrupted; the trial is run again by the next session.
  [[nodiscard]] std::optional<FinishedTrial> run(const TrialOrder& order);

 private:
  /// The latest equal trial whose result stands and was measured under the present state of this machine; empty: none.
  /// One that was set aside for the machine is told.
  [[nodiscard]] std::optional<db::StoredTrial> equal_trial(const std::string& key) const;
  [[nodiscard]] bool unchanged(const db::StoredTrial& known) const;
  /// Good runs that an earlier session, which was ended in the middle of this trial, has stored; by seed.
  [[nodiscard]] std::vector<space::Run> runs_of_before(db::TrialId trial, space::Purpose purpose) const;
  /// Writes the result of its runs so far into the record; whether it wants another.
  [[nodiscard]] bool judge(const std::vector<space::Run>& runs, const Prepared& prepared,
                           const std::optional<space::Estimate>& incumbent, space::Trial& record) const;
  /// Completes the answer of a trial that is reserved. `runs`: those it has already.
  [[nodiscard]] TrialAnswer measure(const TrialOrder& order, const Prepared& prepared, std::vector<space::Run> runs,
                                    TrialAnswer answer);
  const Session& session_;
};

/// The answer to a trial whose software stack failed in the preflight: that failure. Nothing is run.
[[nodiscard]] TrialAnswer answer_of_preflight(const Session& session, std::int64_t number,
                                              const db::PreflightRecord& seen);

/// Stores the result of a finished order, and with it the tell. Claims the trial where nobody has.
void store_answer(const Session& session, const TrialAnswer& answer);

/// Steps that a trial of a large batch times at least.
inline constexpr std::int64_t kFewestTimedSteps = 10;

/// The steps of the configuration's trial: the campaign's, but of an own script whose batch is varied fewer where a
/// step has more examples than the default's, so that such a trial takes about as long.
[[nodiscard]] space::Fidelity trial_fidelity(const CampaignSpec& spec, const space::Configuration& configuration);

/// Hash of workload, configuration, fidelity, program, the fingerprint's fields that must match and the images
/// (session.hpp; empty: the workload's own): trials with equal keys measure the same thing.
[[nodiscard]] std::string trial_key(const CampaignSpec& spec, const space::Configuration& configuration,
                                    const space::Fidelity& fidelity, const std::string& worker,
                                    const std::string& fingerprint_key, const std::string& images = {});

}  // namespace nocturne::tuner
