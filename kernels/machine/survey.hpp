#pragma once

/// Measures everything within a budget of time.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "kernels/machine/spread.hpp"

namespace nocturne::machine {

struct Measurement {
  std::string name;  ///< fma_f32, fma_bf16, triad
  std::string unit;  ///< GFLOP/s, GB/s
  int threads = 1;
  std::string kernel;  ///< avx512f, …
  Spread rate;         ///< in `unit`
  double sum = 0;      ///< of the last repeat's results
  bool right = true;   ///< whether every repeat computed what it must
  std::string absent;  ///< why it was not measured; then all else is empty
};

/// f32 and bf16 peak and the triad, each with one thread and with all, about equally long in turn. `notice` is called
/// before each.
[[nodiscard]] std::vector<Measurement> survey(std::chrono::duration<double> budget,
                                              const std::function<void(const std::string&)>& notice);

}  // namespace nocturne::machine
