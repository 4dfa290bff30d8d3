#pragma once

/// The answers of a training that are neither success nor failure (protocol: `unsupported`, `diverged`,
/// `out_of_memory`).

#include <stdexcept>

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

}  // namespace nocturne::worker
