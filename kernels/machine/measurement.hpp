#pragma once

/// One figure of this machine.

#include <cstdint>
#include <string>

#include "kernels/machine/spread.hpp"

namespace nocturne::machine {

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

}  // namespace nocturne::machine
