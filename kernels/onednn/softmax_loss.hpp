#pragma once

/// Softmax cross-entropy, mean over the batch. Logits are f32 and row-major (N, classes).

#include <cstdint>

#include "kernels/onednn/bf16.hpp"

namespace nocturne::onednn {

/// Returns the mean loss over `count` images and writes its derivative, (softmax - onehot) / count, into `difference`,
/// rounded to bf16 by the second form. The loss is not finite where a logit is not.
[[nodiscard]] float softmax_loss(const float* logits, const std::uint8_t* labels, std::int64_t count,
                                 std::int64_t classes, float* difference);
[[nodiscard]] float softmax_loss(const float* logits, const std::uint8_t* labels, std::int64_t count,
                                 std::int64_t classes, Bfloat16* difference);

struct Score {
  double loss = 0;  ///< sum over the images
  std::int64_t correct = 0;
};
/// Judges without learning.
[[nodiscard]] Score judge(const float* logits, const std::uint8_t* labels, std::int64_t count, std::int64_t classes);

}  // namespace nocturne::onednn
