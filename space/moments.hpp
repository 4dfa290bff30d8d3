#pragma once

/// Mean and scatter of measured values. Pure.

#include <cstddef>
#include <span>

namespace nocturne::space {

struct Moments {
  std::size_t count = 0;
  double mean = 0;     ///< 0 of no values
  double squares = 0;  ///< Σ (value − mean)²

  /// Of one value, √(squares / (count − 1)). 0 where there are fewer than two: nothing is known of it.
  [[nodiscard]] double sd() const;
  /// Of the mean, its square: squares / (count − 1) / count; 0 likewise.
  [[nodiscard]] double squared_error() const;
  [[nodiscard]] double standard_error() const;
};

[[nodiscard]] Moments moments_of(std::span<const double> values);

}  // namespace nocturne::space
