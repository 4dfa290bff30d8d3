#pragma once

/// What the device knows of the training while steps follow each other without the host: plain data, copied out when a
/// sample ends.

#include <cstdint>

#ifdef __CUDACC__
#define NOCTURNE_HOST_DEVICE __host__ __device__
#else
#define NOCTURNE_HOST_DEVICE
#endif

namespace nocturne::cuda {

// Dynamic loss scaling for f16 (Micikevicius et al., "Mixed Precision Training", ICLR 2018, section 3.2): the loss is
// multiplied by a power of two before the backward pass, so that small activation gradients do not become zero, and
// gradients are divided by it before the update. A step whose gradients overflow is not applied and halves the scale;
// so many good ones in a row double it.
//
// The rule runs on the device, so that a step needs no answer from the host; the same function is tested there.

inline constexpr float kFirstScale = 65536.0F;       // 2^16: overflows within a few steps, then fits
inline constexpr float kGateScale = 1024.0F;         // 2^10: where every step must count, from the first on
inline constexpr float kLargestScale = 16777216.0F;  // 2^24: a gradient of 2^-24 is then 1, and f16's least is 2^-24
inline constexpr int kGoodStepsToDouble = 2000;      // as the frameworks have it

struct LossScale {
  float scale = 1.0F;
  int good_steps = 0;  ///< in a row, since the scale changed
};

/// What follows a step. A scale of 1 or less stays: with an overflow at 1 the loss itself is too large.
NOCTURNE_HOST_DEVICE inline LossScale next_scale(LossScale now, bool overflow) {
  if (overflow) return {now.scale > 1.0F ? now.scale / 2.0F : now.scale, 0};
  if (now.good_steps + 1 < kGoodStepsToDouble) return {now.scale, now.good_steps + 1};
  return {now.scale < kLargestScale ? now.scale * 2.0F : now.scale, 0};
}

struct StepState {
  std::uint64_t seed = 1;
  std::int64_t step = 0;          ///< steps done
  std::uint64_t dropout_key = 0;  ///< key of the step that runs
  LossScale loss_scale;
  int overflow = 0;                 ///< 1: a gradient of this step is not finite, nothing is updated
  std::int64_t skipped = 0;         ///< steps so far that were not applied
  float loss = 0;                   ///< mean over the last step's batch
  double loss_sum = 0;              ///< over all images of all steps
  std::int64_t not_finite_at = -1;  ///< first step whose loss is not finite
};

}  // namespace nocturne::cuda
