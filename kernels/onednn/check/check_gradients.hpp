#pragma once

/// Are the gradients right? Two comparisons, which together answer it:
///
/// 1. The fast kernels against the double-precision reference, row by row: what a row computed from its input, and what
///    it gave back for its output's gradient, against the reference's from the same input and activation gradient. The
///    reference follows the table, so a row that read the wrong one, or an activation gradient that was forgotten where
///    rows part, is found too. Rectifiers, maxima and dropout are decided by the values that the kernels saw.
/// 2. The reference against central finite differences of its own loss, at sampled positions of every tensor. This
/// takes
///    a run of the network for each position, so large networks leave it to a small one with every kind of layer.
///
/// Errors are relative to the tensor's largest magnitude.

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "kernels/networks/network.hpp"
#include "kernels/onednn/parameters/parameters.hpp"
#include "kernels/onednn/settings.hpp"

namespace nocturne::onednn {

struct GradientCheck {
  std::string layer, tensor;  ///< "conv1", "output" | "weights" | "biases" | "input activation gradient"; "loss", ""
  double error = 0, tolerance = 0;
  [[nodiscard]] bool passed() const { return error <= tolerance; }  ///< false for NaN
};

/// f32 accumulates thousands of products, 1e-4 is generous; bf16 rounds every activation and activation gradient to 8
/// bits (2^-9 each).
inline constexpr double kToleranceF32 = 1e-4;
inline constexpr double kToleranceBf16 = 2e-2;
inline constexpr double kToleranceFiniteDifferences = 1e-6;

/// What a kind calls its two tensors of parameters.
struct TensorNames {
  const char *weights, *biases;
};
[[nodiscard]] TensorNames tensor_names(networks::Kind kind);

struct CheckOptions {
  Settings settings;       ///< a small batch will do: the reference is slow
  std::uint64_t seed = 1;  ///< draws weights, images, labels and dropout: noise, no data set is needed
  /// Called between backward and the comparison: a test plants its errors here.
  std::function<void(Parameters&)> tamper;
};

/// Comparison 1. Throws worker::Unsupported as planning does.
[[nodiscard]] std::vector<GradientCheck> check_kernels(const networks::Network& network, const CheckOptions& options);

/// Comparison 2.
[[nodiscard]] std::vector<GradientCheck> check_reference(const networks::Network& network, std::uint64_t seed);

/// Networks of no more operations an image go through comparison 2 themselves, others through kEveryKind
/// (every_kind.hpp).
inline constexpr std::int64_t kMostFlopsForFiniteDifferences = 30'000'000;

/// Both, as a table; returns the exit code: 0 where all pass, else 1. Applies the settings first.
[[nodiscard]] int check_gradients(const networks::Network& network, const CheckOptions& options, std::ostream& out);

}  // namespace nocturne::onednn
