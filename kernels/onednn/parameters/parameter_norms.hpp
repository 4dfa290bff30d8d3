#pragma once

/// How large each tensor of parameters is, and how far it moved: what the gate compares between trainers.

#include <vector>

#include "kernels/onednn/parameters/parameters.hpp"
#include "measure/protocol/event_writer.hpp"

namespace nocturne::onednn {

class ParameterNorms {
 public:
  /// Keeps a copy of the values as they are now. `parameters` must outlive it.
  explicit ParameterNorms(const Parameters& parameters);

  /// Euclidean norms of the values, and of their activation gradients from the copy, by tensor; summed in double
  /// precision. Padding of blocked layouts is zero and does not count.
  [[nodiscard]] std::vector<protocol::LayerNorm> now() const;

 private:
  const Parameters& parameters_;
  std::vector<std::vector<float>> began_;  ///< by tensor, in the order of its memory
};

}  // namespace nocturne::onednn
