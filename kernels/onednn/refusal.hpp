#pragma once

/// The two answers of a training that are neither success nor failure (protocol: `unsupported`, `diverged`).

#include <stdexcept>

namespace nocturne::onednn {

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

}  // namespace nocturne::onednn
