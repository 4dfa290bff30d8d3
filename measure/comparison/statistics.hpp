#pragma once

/// From raw runs to the parts of T(N) and the estimate of a trial. Pure: no clock, no files.
///
///   T(N) = import + data + compile + first_step_excess + N · (epoch_overhead + steps_per_epoch · steady_step)
///
/// - import, data, compile: the phases of these names; `build` (the worker makes its primitives) counts as compile.
/// - steady_step: by the samples behind the warm-up (warm_up.hpp), steady_location (location.hpp) of what a step does,
///   and of the second half of them bursty_location of what it waits for its data; data_wait.hpp says how much that is.
/// - first_step_excess: phase first_step less a steady step, plus what the warm-up samples took beyond steady steps (a
///   second compilation in step 2 is paid in each process too). Never below 0.
/// - epoch_overhead: median over epochs of wall − steps_per_epoch · steady_step, never below 0; the first epoch counts
///   only where it is the only one, and then less the first_step_excess, which is in its wall. Of a script of one's own
///   it is what its data loader's processes take to be started and ended in each epoch (phase kEpochStart), of which
///   the first, being in the first step's phase as well, is no part of first_step_excess; and what else stands between
///   two epochs (phase kEpochEnd: evaluation, checkpoint), where two ends were seen at least: what the first took
///   beyond the others, such as compiling the evaluation, is part of first_step_excess.
/// - steps_per_epoch: training examples / batch; rounded down where the partial batch is dropped.

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measure/comparison/location.hpp"
#include "measure/comparison/warm_up.hpp"
#include "measure/protocol/request.hpp"
#include "space/configuration.hpp"
#include "space/objective.hpp"
#include "space/run.hpp"
#include "space/trial.hpp"
#include "space/workload.hpp"

namespace nocturne::measure {

/// The phase between two epochs in which the processes of a script's data loader end and others give the first batch.
inline constexpr std::string_view kEpochStart = "epoch_start";

/// What stands between two epochs of a script beside that: from the last step, but for the time of a step, to the first
/// batch.
inline constexpr std::string_view kEpochEnd = "epoch_end";

/// Whether a phase of a script's run is part of its start.
[[nodiscard]] constexpr bool is_of_start(std::string_view phase) {
  return phase != kEpochStart && phase != kEpochEnd;
}

/// What a step and an epoch consist of.
struct Schedule {
  std::int64_t training_examples = 60000;
  std::int64_t batch = 128;
  protocol::PartialBatch partial_batch = protocol::PartialBatch::Drop;
};

/// Takes `batch` from the configuration (an integer ≥ 1; absent: `default_batch`). The error is a sentence.
[[nodiscard]] std::expected<Schedule, std::string> schedule_of(
    const space::Workload& workload, const space::Configuration& configuration, std::int64_t default_batch = 128,
    protocol::PartialBatch partial_batch = protocol::PartialBatch::Drop);

/// 468 or 468.75 for 60,000 examples in batches of 128.
[[nodiscard]] double steps_per_epoch(const Schedule& schedule);

/// Seconds.
struct EpochEnd {
  double each = 0;   ///< of epoch_overhead
  double first = 0;  ///< beyond that, once: of first_step_excess
};

/// By phases kEpochEnd. Empty: fewer than two were seen, and of a single one nobody knows what of it returns.
[[nodiscard]] std::optional<EpochEnd> epoch_end(const space::Run& run);

/// One run, condensed.
struct RunSummary {
  space::Parts parts;                      ///< seconds
  std::optional<EpochEnd> epoch_end = {};  ///< what of them is by phases kEpochEnd
  double steady_step_error = 0;            ///< standard error of parts.steady_step within the process, seconds
  WarmUp warm_up;
  std::size_t samples = 0;  ///< that entered steady_step
};

/// Standard error of T(N) that follows from steady_step_error: the only part of which one process gives more than one
/// value. The first-step excess holds −1 step, so the factor is |N · steps_per_epoch − 1| (where the excess is not cut
/// at 0).
[[nodiscard]] double total_time_error(const RunSummary& summary, double epochs);

/// Wall seconds per step of each sample, in order.
[[nodiscard]] std::vector<double> step_seconds(const space::Run& run);

/// The error is a sentence: no samples, or the batch is larger than an epoch.
[[nodiscard]] std::expected<RunSummary, std::string> summarise(const space::Run& run, const Schedule& schedule);

/// A trial's estimate from its runs with outcome Ok. Others are passed over: one of them Ok is enough. So are those
/// whose device was held back or that ran under load (disturbance.hpp), where there is one that was not and did not.
struct TrialSummary {
  space::Estimate estimate;      ///< at objective.primary; value == total_time(parts, primary)
  space::Parts parts;            ///< each part's mean over the runs
  std::vector<RunSummary> runs;  ///< in the order given
  bool disturbed = false;        ///< all of them were slowed (disturbance.hpp): there is nothing better
};

/// Several runs: the value is their mean, its error from the scatter between them, but not below what the scatter
/// within them accounts for (two runs can agree by chance). One run: the error within.
[[nodiscard]] std::expected<TrialSummary, std::string> summarise(std::span<const space::Run> runs,
                                                                 const Schedule& schedule,
                                                                 const space::Objective& objective);

/// Each part's mean over the runs, which have as many steps an epoch. REQUIRES: not empty.
[[nodiscard]] space::Parts mean_parts(std::span<const RunSummary> runs);

/// The same estimate at another horizon. REQUIRES: not empty.
[[nodiscard]] space::Estimate estimate_at(std::span<const RunSummary> runs, double epochs);

}  // namespace nocturne::measure
