#pragma once

/// What the trials of a campaign say about each value of each parameter. Pure; no model: averages of what was measured.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "space/trial.hpp"

namespace nocturne::cli {

/// One value of one parameter.
struct ValueEffect {
  std::optional<space::Value> value;  ///< empty: the parameter was inactive
  std::size_t measured = 0;           ///< trials that ended well
  std::size_t failed = 0;             ///< finished trials that did not
  /// Seconds of the measured ones, for the horizon. Geometric mean, because times differ by factors; 0 where none.
  double mean = 0, fastest = 0, slowest = 0;
  /// Pairs of trials that are equal but for this parameter, with this value and with the default's.
  std::size_t matched = 0;
  /// Geometric mean over these of T(this value) / T(default's value): 0.5 takes half the time. Not confounded with the
  /// other parameters, as the mean is. Empty: no such pairs.
  std::optional<double> ratio;
};

struct ParameterEffect {
  std::string parameter;
  std::optional<space::Value> default_value;  ///< in the default configuration; empty: inactive there
  std::vector<ValueEffect> values;            ///< in the order of space::Value, inactive first
};

/// Takes finished trials, the first being the default (number 0) where it is among them. `epochs` is the horizon.
/// Parameters that took one value only are left out.
[[nodiscard]] std::vector<ParameterEffect> effects_of(std::span<const space::Trial> trials, double epochs);

}  // namespace nocturne::cli
