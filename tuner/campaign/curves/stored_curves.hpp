#pragma once

/// What a campaign's learning curves say, read from the database alone. A curve is a run of purpose gate: of the trial
/// of its learning set's configuration, with a seed of its own, which is the same for the k-th curve of each set. Where
/// the finals trained to the target, those trainings say as much about their sets as curves do.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "measure/accuracy/curve_race.hpp"
#include "measure/protocol/request.hpp"
#include "space/objective.hpp"
#include "space/space.hpp"
#include "tuner/campaign/curves/learning_sets.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::tuner {

/// Curves of the default that say what it reaches, where the target is that.
inline constexpr std::size_t kTargetCurves = 3;

struct StoredCurves {
  std::vector<LearningSet> sets{};                     ///< the default's first
  std::vector<measure::LearningEntrant> entrants{};    ///< of each
  std::vector<measure::LearningStanding> standings{};  ///< likewise
  std::optional<double> accuracy{};                    ///< the target; empty: the default's curves are still to come
  std::chrono::nanoseconds spent{};                    ///< that the curves took
  std::int64_t curves = 0;
  std::vector<std::int64_t> drawn{};  ///< curves of each set that ended well
  std::int64_t trainings = 0;         ///< to the target, in the finals
  std::vector<std::string> names{};   ///< the parameters that learn

  /// Index of the set of all that learns as this configuration does.
  [[nodiscard]] std::size_t set_of(const space::Configuration& configuration) const;
  /// What is expected of that set.
  [[nodiscard]] const measure::LearningStanding& standing_of(const space::Configuration& configuration) const;
};

[[nodiscard]] measure::CurvePolicy curve_policy(const space::AccuracyTarget& target);
/// What a worker is asked for; `until`: empty where the curve goes on.
[[nodiscard]] protocol::CurveRequest curve_request(const space::AccuracyTarget& target, std::optional<double> until);

/// `process_sd`: of the machine, as RunSettings has it.
[[nodiscard]] StoredCurves stored_curves(const db::Store& store, db::CampaignId campaign, const space::Space& space,
                                         const WorkerChoice& worker, const space::Workload& workload,
                                         const space::AccuracyTarget& target, double process_sd);

/// Steps of an epoch of this configuration; empty where it can have none.
[[nodiscard]] std::optional<double> steps_of_epoch(const WorkerChoice& worker, const space::Workload& workload,
                                                   const space::Configuration& configuration);

/// Start-up and an epoch of a trial, whatever number of epochs its parts stand for by now. `steps`: of an epoch.
/// REQUIRES: it has parts.
[[nodiscard]] measure::EpochTimes epoch_times(const space::Trial& trial, double steps, double process_sd);

/// Parts of a training to the target, from those of an epoch of this configuration. Empty: it can have no epoch.
[[nodiscard]] std::optional<space::Parts> parts_to_target(const space::Configuration& configuration,
                                                          const space::Parts& parts, const StoredCurves& curves,
                                                          const WorkerChoice& worker, const space::Workload& workload);

/// Puts the time to accuracy into a trial that ended well: its parts become those of a training to the target, its
/// estimate the time of one (space/objective.hpp). Its error is that of the times: of the epochs the curves tell.
/// Composed again, with what other curves say, it is as if it had not been before.
void compose(space::Trial& trial, const StoredCurves& curves, const WorkerChoice& worker,
             const space::Workload& workload);

}  // namespace nocturne::tuner
