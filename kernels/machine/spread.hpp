#pragma once

/// Order statistics of a few repeated measurements.

#include <vector>

namespace nocturne::machine {

struct Spread {
  double median = 0;
  double minimum = 0;
  double maximum = 0;
  double relative_spread = 0;  ///< interquartile range / median
  int repeats = 0;
};

/// Quartiles interpolate between neighbours. All zero where `values` is empty.
[[nodiscard]] Spread spread_of(std::vector<double> values);

}  // namespace nocturne::machine
