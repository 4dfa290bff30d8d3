#pragma once

/// The least time that the work of a configuration can take on its machine, as the caller knows it (operations and
/// peaks): a physical covariate of the models. It is no promise that anything comes near it.

#include <functional>
#include <string>
#include <vector>

#include "space/configuration.hpp"

namespace nocturne::search {

/// Empty function: nothing is known, and nothing of this takes place.
struct WorkBound {
  /// That it depends on; others are not in the configurations it is asked for. Where a space has none of them it says
  /// nothing.
  std::vector<std::string> parameters{};
  /// Seconds of the steps of one example; above 0. Pure: the same configuration, the same number.
  std::function<double(const space::Configuration&)> seconds_an_example{};
};

// What parameters are, beyond their names: told by the caller, who knows the workload and its workers.

/// Empty: no parameter has that role.
struct Roles {
  std::string batch{};    ///< examples a training step
  std::string threads{};  ///< the parameter that counts the threads of a step
};

}  // namespace nocturne::search
