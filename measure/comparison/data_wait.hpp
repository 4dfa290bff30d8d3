#pragma once

/// How long a training waits for its data: the part of its steps in which images were read, decoded or waited for.
/// Pure.

#include <cstddef>
#include <optional>
#include <span>

#include "space/objective.hpp"
#include "space/run.hpp"

namespace nocturne::measure {

struct DataWait {
  double step_seconds = 0;  ///< waiting in a step: a part of Parts::steady_step, nothing beside it
  double share = 0;         ///< share of the steps' time, 0 to 1
  friend bool operator==(const DataWait&, const DataWait&) = default;
};

/// The first of so many samples whose wait is that of a long training: in the second half behind the warm-up a queue
/// that a reader filled while the first step took long is no more.
[[nodiscard]] std::size_t waits_settled(std::size_t warm_up, std::size_t samples);

/// Takes the samples from waits_settled() on: all waits divided by all steps, and by all their time.
/// Sums: a reader that falls behind is waited for in few steps, and long.
/// Empty: the run has no samples.
[[nodiscard]] std::optional<DataWait> data_wait(const space::Run& run);

/// The mean over the runs of a trial that have one. Empty: none has.
[[nodiscard]] std::optional<DataWait> data_wait(std::span<const space::Run> runs);

/// Seconds of T(N) that are such waiting: N · steps_per_epoch · step_seconds.
[[nodiscard]] double data_wait_seconds(const DataWait& wait, const space::Parts& parts, double epochs);

}  // namespace nocturne::measure
