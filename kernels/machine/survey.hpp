#pragma once

/// Measures everything within a budget of time.

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "kernels/machine/measurement.hpp"

namespace nocturne::machine {

struct SurveyPlan {
  std::chrono::duration<double> budget{20};  ///< for all measurements together, the disk's included
  std::filesystem::path disk{};              ///< a folder on the disk to measure; empty: none is
  std::vector<std::string> only{};           ///< names of figures (the disk's two are "disk"); empty: all
};

/// f32 and bf16 peak, bandwidth and latency of each cache and of memory, each with one thread and with all; where there
/// are several NUMA nodes, the bandwidth of each and the latency between any two; the disk. About equally long in turn.
/// What cannot be true (plausibility.hpp) is measured again at the end, beyond the budget. `notice` is called before
/// each. Empty: there is nothing of the names in `only`.
[[nodiscard]] std::vector<Measurement> survey(const SurveyPlan& plan,
                                              const std::function<void(const std::string&)>& notice);

}  // namespace nocturne::machine
