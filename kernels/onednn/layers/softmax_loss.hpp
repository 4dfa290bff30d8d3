#pragma once

/// Softmax cross-entropy, mean over the batch. Logits are f32 and row-major (N, classes).

#include <cstdint>

#include "kernels/onednn/bf16.hpp"

namespace nocturne::onednn {

struct LossOptions {
  std::int64_t count = 0, classes = 0;
  /// Label smoothing (Szegedy and others, CVPR 2016, section 7): a label is 1 - s for its class, and s / classes more
  /// for each. 0: the plain label.
  float smoothing = 0;
};

/// Returns the mean loss over the images and writes its derivative, (softmax - label) / count, into `activation
/// gradient`, rounded to bf16 by the second form. The loss is not finite where a logit is no number or +inf, or the
/// label's is -inf.
[[nodiscard]] float softmax_loss(const float* logits, const std::int32_t* labels, const LossOptions& options,
                                 float* activation_gradient);
[[nodiscard]] float softmax_loss(const float* logits, const std::int32_t* labels, const LossOptions& options,
                                 Bfloat16* activation_gradient);

struct Score {
  double loss = 0;  ///< sum over the images, without smoothing
  std::int64_t correct = 0;
};
/// Judges without learning.
[[nodiscard]] Score judge(const float* logits, const std::int32_t* labels, std::int64_t count, std::int64_t classes);

}  // namespace nocturne::onednn
