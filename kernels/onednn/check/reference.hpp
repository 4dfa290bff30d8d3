#pragma once

/// The same networks in plain loops and double precision: what the fast kernels are checked against. Slow and obvious
/// on purpose; shares nothing with them but the table.
///
/// A network of rectifiers, maxima and dropout is smooth once it is fixed which rectifiers are open, which value wins
/// each maximum, and what is dropped: its *decisions*. Two computations of different precision may decide differently
/// where values are nearly equal, and would then differ by whole values and not by rounding. So the decisions can be
/// taken from elsewhere, and they stay fixed while gradients are compared.

#include <cstdint>
#include <vector>

#include "kernels/networks/network.hpp"

namespace nocturne::onednn {

using Values = std::vector<double>;

/// One row of the table. Tensors are row-major (N, C, H, W); weights (O, I, H, W) or (O, I). A normalisation's scale
/// and shift are its weights and biases.
struct ReferenceLayer {
  networks::LayerFigures figures;
  Values weights, biases;
  Values weights_gradient, biases_gradient;
  Values output;
  Values activation_gradient;        ///< gradient of the output: the sum of what its readers give back
  Values input_gradient;             ///< what it gives back itself; Add: to each of its inputs
  std::vector<char> open;            ///< ReLU: per value of the output
  std::vector<std::int64_t> winner;  ///< max-pool: per value of the output, index into the input
  Values factor;                     ///< dropout: per value, 0 or 1 / (1 - rate)
  Values mean, deviation;            ///< normalisation: per channel, of the batch; deviation = sqrt(variance + ε)
};

class ReferenceNetwork {
 public:
  /// Throws std::logic_error where the table does.
  ReferenceNetwork(const networks::Network& network, std::int64_t batch);

  Values image;                      ///< (N, C, H, W)
  Values image_gradient;             ///< from all who read it
  std::vector<std::int32_t> labels;  ///< N
  std::vector<ReferenceLayer> layers;

  /// Runs from row `first` (those above as they are) to the loss, the mean over the batch. `decide` fixes rectifiers
  /// and maxima by the values met; otherwise the decisions present hold. Dropout's factors always hold.
  double forward(bool decide, std::size_t first = 0);
  /// Fills all gradients and activation gradients. REQUIRES: forward.
  void backward();

  /// One row, given what it reads.
  void forward_row(std::size_t row, bool decide);
  /// One row, given its input, its decisions and its activation gradient: gradients and input_gradient.
  void backward_row(std::size_t row);
  /// The loss of the last row's output, and that row's gradient.
  double loss();

  /// The output of a row; of -1 the image.
  [[nodiscard]] Values& tensor(std::int64_t row) {
    return row < 0 ? image : layers[static_cast<std::size_t>(row)].output;
  }
  [[nodiscard]] Values& activation_gradient(std::int64_t row) {
    return row < 0 ? image_gradient : layers[static_cast<std::size_t>(row)].activation_gradient;
  }
  [[nodiscard]] std::int64_t batch() const { return batch_; }

 private:
  std::int64_t batch_;
  std::int64_t classes_;
};

}  // namespace nocturne::onednn
