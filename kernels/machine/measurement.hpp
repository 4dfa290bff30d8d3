#pragma once

/// One figure of this machine.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace nocturne::machine {

// Order statistics of a few repeated measurements.

struct Spread {
  double median = 0;
  double minimum = 0;
  double maximum = 0;
  double relative_spread = 0;  ///< interquartile range / median
  int repeats = 0;
};

/// Quartiles interpolate between neighbours. All zero where `values` is empty.
[[nodiscard]] Spread spread_of(std::vector<double> values);

struct Measurement {
  std::string name;  ///< fma_f32, fma_bf16, amx_bf16, triad, triad_l1, latency, disk_write, … (README.md has the list)
  std::string unit;  ///< GFLOP/s, GB/s, ns
  int threads = 1;
  std::string kernel;                  ///< avx512f, …
  Spread rate;                         ///< in `unit`
  double sum = 0;                      ///< sum of the last repeat's results
  bool right = true;                   ///< whether every repeat computed what it must
  std::string absent;                  ///< why it was not measured; then all else is empty
  std::int64_t working_set_bytes = 0;  ///< memory of each thread; 0: it needs none
  int node = -1;                       ///< NUMA node whose CPUs worked; -1: any
  int memory_node = -1;                ///< whose memory they used; -1: their own
  int tries = 1;                       ///< how often it was measured; `rate` is of the best of them
  std::string doubt{};                 ///< why it may be too low, a clause (plausibility.hpp); empty: it may be true
};

// How often something is measured, and how long it must last to be measured at all.

using Seconds = std::chrono::duration<double>;

inline constexpr int kFewestRepeats = 5;  // for quartiles to mean something
inline constexpr Seconds kRepeat{0.02};   // long against starting threads, short against a neighbour's bursts

/// Repeats until the time is over, but at least kFewestRepeats times.
[[nodiscard]] Spread repeat(Seconds budget, const std::function<double()>& once);

/// The smallest of `fewest`, 2 · fewest, … for which `once` lasts kRepeat, at most `most`.
[[nodiscard]] std::int64_t enough_iterations(std::int64_t fewest, std::int64_t most,
                                             const std::function<std::chrono::nanoseconds(std::int64_t)>& once);

/// Above zero, so that it can be divided by.
[[nodiscard]] double seconds_of(std::chrono::nanoseconds time);

}  // namespace nocturne::machine
