#pragma once

/// What parameters are, beyond their names: told by the caller, who knows the workload and its workers.

#include <string>

namespace nocturne::search {

/// Empty: no parameter has that role.
struct Roles {
  std::string batch{};    ///< examples a training step
  std::string threads{};  ///< that share the work of a step
};

}  // namespace nocturne::search
