#pragma once

/// The same networks in plain loops and double precision: what the fast kernels are checked against. Slow and obvious
/// on purpose; shares nothing with them but the table.
///
/// A network of rectifiers, maxima and dropout is smooth once it is fixed which rectifiers are open, which value wins
/// each maximum, and what is dropped: its *decisions*. Two computations of different precision may decide differently
/// where values are nearly equal, and would then differ by whole values and not by rounding. So the decisions can be
/// taken from elsewhere (decide_like), and they stay fixed while gradients are compared.

#include <cstdint>
#include <vector>

#include "kernels/networks/network.hpp"

namespace nocturne::onednn {

using Values = std::vector<double>;

/// One row of the table. Tensors are row-major (N, C, H, W); weights (O, I, H, W) or (O, I).
struct ReferenceLayer {
  networks::LayerFigures figures;
  Values weights, biases;
  Values weights_gradient, biases_gradient;
  Values output, input_difference;
  std::vector<char> open;            ///< ReLU: per value of the output
  std::vector<std::int64_t> winner;  ///< max-pool: per value of the output, index into the input
  Values factor;                     ///< dropout: per value, 0 or 1 / (1 - rate)
};

class ReferenceNetwork {
 public:
  /// Throws std::logic_error for kinds that have no loops here.
  ReferenceNetwork(const networks::Network& network, std::int64_t batch);

  Values image;                      ///< (N, C, H, W)
  std::vector<std::uint8_t> labels;  ///< N
  std::vector<ReferenceLayer> layers;

  /// Runs from row `first` (its input as it is) to the loss, the mean over the batch. `decide` fixes rectifiers and
  /// maxima by the values met; otherwise the decisions present hold. Dropout's factors always hold.
  double forward(bool decide, std::size_t first = 0);
  /// Fills all gradients and input differences. REQUIRES: forward.
  void backward();

  /// The tensor a row reads: the output above, or the image.
  [[nodiscard]] Values& input(std::size_t row) { return row == 0 ? image : layers[row - 1].output; }
  [[nodiscard]] std::int64_t batch() const { return batch_; }

 private:
  void forward_row(std::size_t row, bool decide);
  void backward_row(std::size_t row, const Values& output_difference);
  double loss();

  std::int64_t batch_;
  std::int64_t classes_;
  Values logits_difference_;
};

}  // namespace nocturne::onednn
