#pragma once

/// Amdahl's parallel fraction from runs with different numbers of processes.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/store.hpp"
#include "tuner/request/job_request.hpp"

namespace nocturne::tuner {

struct FittedScaling {
  double parallel_fraction = 0;  ///< F, 0 to 1
  double low = 0, high = 1;      ///< its 95 % interval
  std::size_t points = 0;        ///< numbers of ranks that were measured
  std::string campaign;
};

/// `times`: ranks and seconds. Least squares of T(n) = a + b/n, which is Amdahl's law, F = b / (a + b); the interval by
/// the delta method with Student's t. Empty: fewer than three numbers of ranks, or no time falls with them.
[[nodiscard]] std::optional<FittedScaling> fit_scaling(const std::vector<std::pair<std::int64_t, double>>& times);

/// From the last campaign that tuned the request's command with a parameter `mpi_ranks`; all else as in its best.
[[nodiscard]] std::optional<FittedScaling> scaling_of_runs(const db::Store& store, const Demands& demands);

}  // namespace nocturne::tuner
