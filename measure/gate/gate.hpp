#pragma once

/// Does this trainer train as the reference does? The exact part of the gate. Pure: no clock, no files.
///
/// Both ran the gate's steps (measure/protocol/README.md, "The gate"): same initial weights, same batches, nothing
/// dropped. Compared are, after each step, the loss, and of each tensor of parameters its Euclidean norm and how far it
/// has moved from where it began. The relative size of a difference is |a − b| / max(|a|, |b|).

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "space/run.hpp"

namespace nocturne::measure {

/// Relative differences up to these are rounding.
struct GateTolerance {
  double loss = 0;
  double moved = 0;   ///< tolerance for a tensor's distance from its initial values
  double norm = 0;    ///< tolerance for a tensor's norm, beyond what its movement explains: moved · distance / norm
  double middle = 0;  ///< tolerance for the median over the tensors of the difference in `moved`; 0: not judged
};

/// Training amplifies rounding from step to step, so the first is judged by itself: its norms are those of one
/// gradient.
struct GateTolerances {
  GateTolerance first, later;
  std::int64_t steps = 1 << 20;  ///< the first steps, which are compared; later ones are chaotic
  [[nodiscard]] const GateTolerance& of_step(std::int64_t step) const { return step == 1 ? first : later; }
};

/// Steps for which the tolerances hold. Beyond, rounding hides what is looked for.
inline constexpr std::int64_t kMostGateSteps = 4;
/// The same for networks with batch normalisation.
inline constexpr std::int64_t kMostNormalisedGateSteps = 2;

/// Tolerances against the reference in f32. Any precision other than "f32" gets those of bf16, which has the shortest
/// mantissa of all that train.
///
/// `normalised`: the network has batch normalisation. There rounding is divided by the deviation of few images and
/// grows a hundredfold in a step: two steps are compared, single tensors loosely, and half of the tensors must agree
/// closely too.
[[nodiscard]] GateTolerances gate_tolerances(std::string_view precision, bool normalised = false);

/// Whether the run's network normalises: it has tensors NAME.scale.
[[nodiscard]] bool is_normalised(const space::Run& run);

/// One difference.
struct GateDifference {
  std::string what;       ///< "loss", or the tensor: "conv1.biases"
  std::int64_t step = 0;  ///< step after which it was seen; 1 is the first
  double size = 0;        ///< relative, 0 to 1; 1 too where a number is not finite
  double tolerance = 0;
  std::string sentence{};  ///< names both values
};

struct GateComparison {
  bool agrees = true;
  /// Where it does not agree: of the first step with a deviation the largest, tensors before the loss. Else the largest
  /// in multiples of its tolerance.
  GateDifference difference;
};

/// The error is a sentence why these two cannot be compared: a worker that does not know the gate, other initial
/// weights, missing steps or layers. REQUIRES: both ended ok.
[[nodiscard]] std::expected<GateComparison, std::string> compare_gate(const space::Run& reference,
                                                                      const space::Run& candidate,
                                                                      const GateTolerances& tolerances);

}  // namespace nocturne::measure
