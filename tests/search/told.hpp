#pragma once

/// What a strategy under test is told.

#include <optional>

#include "space/trial.hpp"

namespace nocturne::search::test {

/// A finished trial; without a value it crashed.
inline space::Trial told(const space::Configuration& configuration, std::optional<double> value) {
  space::Trial trial;
  trial.configuration = configuration;
  trial.outcome = value ? space::Outcome::Ok : space::Outcome::Crashed;
  if (value) trial.estimate = space::Estimate{.value = *value, .standard_error = 0, .runs = 1};
  return trial;
}

}  // namespace nocturne::search::test
