#pragma once

/// What cuDNN's operations compute, on floats in the order (n, c, h, w). Sources: the formulas in cuDNN's reference;
/// batch normalisation: Ioffe and Szegedy, arXiv 1502.03167, algorithm 1 and section 3.

#include "tests/kernels/cuda/simulated_gpu/tensors.hpp"

namespace nocturne::simulated {

/// A square window over an image.
struct Window {
  std::int64_t side = 1, stride = 1, padding = 0;
};

/// Filters (outputs, inputs, side, side); the window's side is theirs.
struct Convolution {
  Sizes input, filter, output;
  std::int64_t stride = 1, padding = 0;
};
[[nodiscard]] Values convolve(const Convolution& shape, const Values& input, const Values& weights);
[[nodiscard]] Values convolve_data(const Convolution& shape, const Values& weights, const Values& activation_gradient);
[[nodiscard]] Values convolve_weights(const Convolution& shape, const Values& input, const Values& activation_gradient);

/// Each channel's sum of values, and of their squares.
[[nodiscard]] Values channel_sums(const Sizes& sizes, const Values& values);
[[nodiscard]] Values channel_squares(const Sizes& sizes, const Values& values);

struct Statistics {
  Values mean, variance;  ///< one for each channel; the variance divides by n
};
[[nodiscard]] Statistics statistics(const Sizes& sizes, const Values& values);
[[nodiscard]] Values normalise(const Sizes& sizes, const Values& values, const Values& mean, const Values& inverse,
                               const Values& scale, const Values& shift);
struct NormalisationGradients {
  Values input, scale, shift;
};
[[nodiscard]] NormalisationGradients normalise_back(const Sizes& sizes, const Values& values,
                                                    const Values& activation_gradient, const Values& mean,
                                                    const Values& inverse, const Values& scale);

/// Largest of a window, NaNs first, the first of equals; or the average over the whole window, padding included.
[[nodiscard]] Values pool(const Sizes& in, const Sizes& out, const Window& window, bool largest, const Values& values);
[[nodiscard]] Values pool_back(const Sizes& in, const Sizes& out, const Window& window, bool largest,
                               const Values& values, const Values& activation_gradient);

}  // namespace nocturne::simulated
