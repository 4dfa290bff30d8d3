#pragma once

/// What parameters are, beyond their names: told by the caller, who knows the workload and its workers.

#include <string>

namespace nocturne::search {

/// Empty: no parameter has that role.
struct Roles {
  std::string batch{};    ///< examples a training step
  std::string threads{};  ///< the parameter that counts the threads of a step
};

}  // namespace nocturne::search
