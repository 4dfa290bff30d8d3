#pragma once

/// Carries orders out on this machine: the one place where that is done, for the loop of a campaign that calls it, and
/// for `nocturne execute`, which is told in JSON. All of it blocks. A full disk, and images that are gone, throw
/// db::Error: they say nothing of a configuration.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "db/records.hpp"
#include "measure/run/runner.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/executor/order.hpp"
#include "tuner/executor/workplace.hpp"

namespace nocturne::tuner {

/// What the process of a trial takes turns with: one of the default, alive beside it. What disturbs the machine
/// disturbs both, and the trial's step is known by the ratio of the two.
struct TrialReference {
  space::Configuration configuration{};
  double steady_step = 0;         ///< seconds that its step is taken to last (campaign/paired_trials.hpp)
  std::int64_t memory_bytes = 0;  ///< that the trial's process may take beside it; 0: as much as alone
};

/// Takes part while a trial is carried out: keeps what must survive a kill of this process, and knows what was measured
/// before. This one keeps nothing: the answer has all of it.
class TrialKeeper {
 public:
  virtual ~TrialKeeper() = default;
  virtual void built(const db::BuildRecord& /*build*/) {}
  /// The trial can be started. Its good runs of before; empty optional: it need not be, an equal one is known.
  [[nodiscard]] virtual std::optional<std::vector<space::Run>> begin(const db::TrialReservation& /*trial*/,
                                                                     space::Purpose /*purpose*/) {
    return std::vector<space::Run>();
  }
  /// ln(step of the reference / step of the trial) of those runs of before that took turns with this reference.
  [[nodiscard]] virtual std::vector<double> ratios_of_before(const TrialReference& /*reference*/,
                                                             const measure::Schedule& /*of_reference*/,
                                                             const measure::Schedule& /*of_trial*/) {
    return {};
  }
  virtual void begin_run(const measure::RunPlan& /*plan*/) {}
  /// A run took turns with the reference to the end: both, and their slices. The trials are to be filled in.
  virtual void keep_pair(const TrialReference& /*reference*/, const db::PairRecord& /*pair*/) {}
  /// A run has ended and another one follows, or it does not count (Outcome::Killed).
  virtual void keep(const db::RunRecord& /*run*/) {}
};

/// `reference`: with which its processes take turns where they can; null: they run alone.
[[nodiscard]] TrialAnswer carry_out(const TrialOrder& order, const Workplace& place, TrialKeeper& keeper,
                                    const TrialReference* reference = nullptr);
/// REQUIRES: the ladder is not empty.
[[nodiscard]] PreparationAnswer carry_out(const PreparationOrder& order, const Workplace& place);

/// Whether the candidate of a pair is started first, and so lies first in memory; it alternates.
[[nodiscard]] inline bool candidate_is_first(std::int64_t index) {
  return index % 2 == 1;
}

/// How an order ends that was cut short. `suspensions`: when it began.
[[nodiscard]] OrderEnd cut_short(const Workplace& place, std::int64_t suspensions);

/// Both sides, ready to be started.
struct PreparedPair {
  const PreparedWorker& baseline;
  const PreparedWorker& candidate;
};
[[nodiscard]] PairAnswer carry_out(const PairOrder& order, const PreparedPair& prepared, const Workplace& place);
/// `lost`: as of Workplace::run().
[[nodiscard]] GateAnswer carry_out(const GateOrder& order, const PreparedWorker& prepared, const Workplace& place,
                                   const std::function<void(const db::RunRecord&)>& lost);

/// Any of them, prepared first where it must be.
[[nodiscard]] OrderAnswer carry_out(const Task& task, const Workplace& place);

/// What an answer says of its trial before there is a result. `worker`: identity of what was started.
[[nodiscard]] TrialAnswer begin_answer(std::int64_t number, const space::Configuration& configuration,
                                       const std::string& worker, const Workplace& place);

/// Runs beyond its repeats that a trial may have, so that one is not disturbed, or two bear each
/// other out.
inline constexpr int kMostRunsBeyond = 1;
/// Runs that one trial can take.
[[nodiscard]] inline int most_runs(const RunSettings& settings) {
  return std::max(settings.repeats, 1) + kMostRunsBeyond;
}

/// Steps that a trial of a large batch times at least.
inline constexpr std::int64_t kFewestTimedSteps = 10;

/// The steps of the configuration's trial: the campaign's, but of an own script whose batch is varied fewer where a
/// step has more examples than the default's, so that such a trial takes about as long.
[[nodiscard]] space::Fidelity trial_fidelity(const CampaignSpec& spec, const space::Configuration& configuration);

/// Hash of workload, configuration, fidelity, program, the fingerprint's fields that must match and the images
/// (data_state(); empty: the workload's own): trials with equal keys measure the same thing.
[[nodiscard]] std::string trial_key(const CampaignSpec& spec, const space::Configuration& configuration,
                                    const space::Fidelity& fidelity, const std::string& worker,
                                    const std::string& fingerprint_key, const std::string& images = {});

}  // namespace nocturne::tuner
