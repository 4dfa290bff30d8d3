#pragma once

/// The answers of a training that are neither success nor failure (protocol: `unsupported`, `diverged`,
/// `out_of_memory`).

#include <stdexcept>
#include <string>

#include "kernels/networks/network.hpp"

namespace nocturne::worker {

/// Thrown where what is asked for cannot be done here; what() is the sentence the user reads.
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Thrown where the loss is no longer a finite number.
class Diverged : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Thrown where an accelerator's memory is exhausted; what() says by what. The process's own memory is the supervisor's
/// business.
class OutOfDeviceMemory : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws Unsupported with the known names where there is no such network.
inline const networks::Network& known_network(const std::string& name) {
  try {
    return networks::find_network(name);
  } catch (const std::out_of_range& error) {
    throw Unsupported(error.what());
  }
}

}  // namespace nocturne::worker
