#pragma once

/// Are the gradients right? Two comparisons, so that nothing is trusted on its own word:
///
/// 1. The fast kernels against the double-precision reference: loss, weights' and biases' gradients, and the difference
/// of
///    every row's input. The decisions (reference.hpp) are taken from the fast kernels, and each that the reference
///    would have taken differently must have been a near tie.
/// 2. The reference against central finite differences of its own loss, at sampled positions of every tensor.
///
/// Errors are relative to the tensor's largest magnitude.

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "kernels/networks/network.hpp"
#include "kernels/onednn/parameters.hpp"
#include "kernels/onednn/settings.hpp"

namespace nocturne::onednn {

struct GradientCheck {
  std::string layer, tensor;  ///< "conv1", "weights" | "biases" | "input difference" | "decisions"; "loss", ""
  double error = 0, tolerance = 0;
  [[nodiscard]] bool passed() const { return error <= tolerance; }  ///< false for NaN
};

/// f32 accumulates thousands of products, 1e-4 is generous; bf16 rounds every activation and difference to 8 bits (2^-9
/// each), and these roundings add up over the rows.
inline constexpr double kToleranceF32 = 1e-4;
inline constexpr double kToleranceBf16 = 2e-2;
inline constexpr double kToleranceFiniteDifferences = 1e-6;

struct CheckOptions {
  Settings settings;       ///< a small batch will do: the reference is slow
  std::uint64_t seed = 1;  ///< of weights, images, labels and dropout: noise, no data set is needed
  /// Called between backward and the comparison: a test plants its errors here.
  std::function<void(Parameters&)> tamper;
};

/// Comparison 1. Throws Unsupported as planning does.
[[nodiscard]] std::vector<GradientCheck> check_kernels(const networks::Network& network, const CheckOptions& options);

/// Comparison 2.
[[nodiscard]] std::vector<GradientCheck> check_reference(const networks::Network& network, std::uint64_t seed);

/// Both, as a table; returns the exit code: 0 where all pass, else 1. Applies the settings first.
[[nodiscard]] int check_gradients(const networks::Network& network, const CheckOptions& options, std::ostream& out);

}  // namespace nocturne::onednn
