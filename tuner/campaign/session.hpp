#pragma once

/// What the pieces of a running campaign share. A session lasts from the start of `tune` to its end; a campaign has one
/// or more.

#include <chrono>
#include <expected>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/records.hpp"
#include "db/store.hpp"
#include "space/fingerprint.hpp"
#include "tuner/campaign/clock.hpp"
#include "tuner/campaign/observer.hpp"
#include "tuner/campaign/pair_limits.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/executor/executor.hpp"
#include "tuner/executor/interruption.hpp"
#include "tuner/executor/workplace.hpp"

namespace nocturne::tuner {

/// Whether the software stacks of the space are tried in the preflight (preflight.hpp).
enum class PreflightMode {
  No,
  First,  ///< before the search, where nothing of the campaign was asked yet
  Only,   ///< and nothing else: no search; what failed before is tried again
};

/// References outlive the session. Copies of it share what its pairs have learnt.
struct Session {
  const CampaignSpec& spec;
  db::Store& store;
  Executor& executor;
  Observer& observer;
  const Clock& clock;
  Interruption& interruption;
  /// Reads the fingerprint anew, its cheap fields at least: called before every trial.
  std::function<space::Fingerprint()> fingerprint_now{};
  space::Fingerprint fingerprint = {};            ///< as the session began
  std::string images = {};                        ///< the data_state() of its workload, as the session began
  std::filesystem::path slot_folder = {};         ///< where the lock files lie; empty: the machine's folder
  db::CampaignId campaign = 0;                    ///< once opened
  std::vector<space::Configuration> wanted = {};  ///< measured after the default, before what the strategy asks
  PreflightMode preflight = PreflightMode::No;
  std::optional<std::chrono::nanoseconds> preflight_limit = {};  ///< no further software stack is begun after this time
  std::shared_ptr<PairLimits> pair_limits = std::make_shared<PairLimits>();  ///< of all pairs that it measures

  /// What its orders are carried out with, and what that does.
  [[nodiscard]] Workplace workplace() const {
    return {.spec = spec,
            .executor = executor,
            .observer = observer,
            .interruption = interruption,
            .fingerprint = fingerprint,
            .images = images,
            .slot_folder = slot_folder,
            .waited = waited()};
  }
  /// A wait for another campaign is none of this one's time, but where that ends at an hour of the day.
  [[nodiscard]] std::function<void(std::chrono::nanoseconds)> waited() const {
    if (spec.budget.until) return {};
    return [&own = clock](std::chrono::nanoseconds time) { own.leave_out(time); };
  }
  [[nodiscard]] std::optional<HeldSlot> take_slot() const { return workplace().take_slot(); }
  [[nodiscard]] std::expected<PreparedWorker, PreparationFailure> prepare(
      const space::Configuration& configuration) const {
    return workplace().prepare(configuration);
  }
  [[nodiscard]] std::expected<PreparedWorker, PreparationFailure> prepare_reference(
      const space::Configuration& configuration) const {
    return workplace().prepare_reference(configuration);
  }
  [[nodiscard]] space::Run run(const std::function<measure::RunPlan()>& plan,
                               const std::function<void(const space::Run&)>& lost) const {
    return workplace().run(plan, lost);
  }

  /// A line of the campaign's log in the database. Where it cannot be written nothing stops: what follows will meet the
  /// same error. REQUIRES: the campaign is open.
  void log(db::Level level, const std::string& what) const;
  /// The same, and to who watches.
  void say(db::Level level, const std::string& sentence) const;
};

/// What a session says that has perhaps not opened its campaign yet.
class SessionLog {
 public:
  /// The session outlives it.
  explicit SessionLog(const Session& session) : session_(session) {}

  void log(db::Level level, const std::string& what) { session_.log(level, what); }
  /// What is said before the campaign is open waits until then.
  void say(db::Level level, std::string sentence);
  /// The campaign is open: says what waited.
  void open();

 private:
  const Session& session_;
  bool open_ = false;
  std::vector<std::pair<db::Level, std::string>> unsaid_;
};

}  // namespace nocturne::tuner
