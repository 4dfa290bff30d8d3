#pragma once

/// How many processes and threads a job has.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "tuner/request/job_request.hpp"
#include "tuner/request/scaling_fit.hpp"

namespace nocturne::tuner {

struct Parallelism {
  std::int64_t ranks = 1;
  std::int64_t threads = 1;
  std::int64_t nodes = 1;
  bool launched = false;  ///< by srun or mpirun
  std::string reason;     ///< why there are fewer ranks than asked for, a sentence; empty: there are not
};

/// Most ranks with a parallel efficiency of at least `efficiency`, E(n) = 1 / (n(1−F) + F) by Amdahl's law, F the
/// parallel fraction: round((1 − eF) / (e(1 − F))). At least 1, at most `asked`. REQUIRES: 0 < efficiency ≤ 1.
[[nodiscard]] std::int64_t efficient_ranks(std::int64_t asked, double efficiency, double parallel_fraction);

/// `fitted`: from runs, where there are some; it takes precedence. `scaling`: of the image that was chosen. The error
/// is a sentence: the partition has too few nodes.
[[nodiscard]] std::expected<Parallelism, std::string> parallelism_of(const JobRequest& request,
                                                                     const std::optional<Scaling>& scaling,
                                                                     const std::optional<FittedScaling>& fitted = {});

}  // namespace nocturne::tuner
