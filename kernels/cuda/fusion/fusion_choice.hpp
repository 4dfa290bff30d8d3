#pragma once

/// Whether a forward pass is left to one of cuDNN's graphs: tried before the first step, on random tensors, against the
/// operations one by one. A graph that computes something else is refused, however fast it is; of those that are right
/// the faster way counts. Host logic; a real GPU's trials are in fusion_trial.hpp, tests play them.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/cuda/choices.hpp"
#include "kernels/cuda/plan/network_plan.hpp"

namespace nocturne::cuda {

/// Compares a tensor of the graph with that of the operations one by one.
struct Agreement {
  double largest_difference = 0;  ///< absolute, of two values in the same place
  double largest_value = 0;       ///< absolute, of the operations one by one
  bool finite = true;             ///< every value of both
};

/// Largest activation gradient that is rounding, as a share of the largest value.
///
///   f32: 2^-14. Sums of some thousand products in another order differ by far less, factors rounded to tf32 by more: a
///   graph that uses tensor cores in secret is refused. tf32: 2^-8; factors are rounded to 10 bits, by whichever rule.
///   bf16: 2^-6 and f16: 2^-9, four units in the last place: between the operations values are rounded, in a graph not.
[[nodiscard]] double fusion_tolerance(Precision precision);

/// What is needed for a trial: each puts its work on the GPU.
struct FusionWays {
  std::function<void()> prepare;                    ///< lays out what a pass reads
  std::function<void()> poison;                     ///< no number at all in place of its input
  std::function<void()> apart, fused;               ///< a forward pass
  std::function<void()> keep;                       ///< remembers what the last pass left, and spoils it where it lies
  std::function<std::vector<Agreement>()> compare;  ///< compares what lies there with what was kept
  std::function<double(const std::function<void()>& pass)> time;  ///< ms that a pass takes
};

struct FusionTrial {
  std::string obstacle;               ///< why the graph could not be run; then nothing else is known
  std::vector<Agreement> agreements;  ///< by tensor, the activations first
  bool hides_nan = false;             ///< the graph makes numbers of what is none: a diverged training would go unseen
  double apart_ms = 0, fused_ms = 0;  ///< the least of some alternating runs; 0: it is wrong, and was not timed
};

/// Runs both. What `fused` throws is an obstacle; what the others throw is thrown on.
[[nodiscard]] FusionTrial try_fusion(const FusionWays& ways, Precision precision);

struct FusionChoice {
  bool fused = false;
  std::string reason;  ///< for `ready`
};

[[nodiscard]] FusionChoice choose_fusion(const FusionTrial& trial, Precision precision);

// Which rows of a network can be fused in their forward pass.
//
//   a convolution or dense layer with its bias, its rectifier, or both;
//   a convolution with the statistics of the normalisation that reads it: sums and sums of squares are taken while the
//   output is written, and the normalisation and its rectifier become one pass over memory.
//
// Training allows both: the backward pass reads a rectifier's output, never what went into it, and mean and deviation
// of the batch are kept as before. What a normalisation makes is written as before too, for the next layer's backward
// pass reads it again; so it cannot vanish into the convolution behind it.

struct FusionGroup {
  std::size_t row = 0;                       ///< convolution or dense
  std::optional<std::size_t> normalisation;  ///< the row that takes its statistics
  friend bool operator==(const FusionGroup&, const FusionGroup&) = default;
};

/// In the order of the rows.
[[nodiscard]] std::vector<FusionGroup> fusion_groups(const NetworkPlan& plan);

}  // namespace nocturne::cuda
