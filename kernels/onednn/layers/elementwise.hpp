#pragma once

/// The worker's own loops over flat ranges: pixels to numbers, sums, the ReLU's gate, dropout. f32 and bf16 alike.
///
/// All work on the physical order of a buffer, whatever its layout; all are plain functions on [0, count), so that they
/// can be cloned for the CPU (kernels/data/clones.hpp) and called from parallel_for.

#include <cstddef>
#include <cstdint>

#include "kernels/onednn/bf16.hpp"

namespace nocturne::onednn {

/// out[i] = pixels[i] * factor + offset.
void scale_pixels(const std::uint8_t* pixels, float* out, float factor, float offset, std::int64_t count);
void scale_pixels(const std::uint8_t* pixels, Bfloat16* out, float factor, float offset, std::int64_t count);

/// activation gradient[i] = 0 where the ReLU's output was not positive.
void gate_relu(float* activation_gradient, const float* output, std::int64_t count);
void gate_relu(Bfloat16* activation_gradient, const Bfloat16* output, std::int64_t count);

/// sum[i] += other[i], of values (with a rectifier on the sum, if asked for) and of activation gradients (with the gate
/// of the ReLU whose output is given).
void add_values(float* sum, const float* other, bool relu, std::int64_t count);
void add_values(Bfloat16* sum, const Bfloat16* other, bool relu, std::int64_t count);
void add_gated(float* sum, const float* other, const float* output, std::int64_t count);
void add_gated(Bfloat16* sum, const Bfloat16* other, const Bfloat16* output, std::int64_t count);

/// One draw of a dropout layer.
struct DropoutDraw {
  std::uint64_t key = 0;      ///< made of the seed, the step and the layer
  std::uint32_t dropped = 0;  ///< how many of 256 values are set to zero: rates are multiples of 1/256
  float scale = 1;            ///< 256 / (256 - dropped)
  bool gate_relu = false;     ///< the values come from a ReLU: its gate is put into `passed` as well
};
/// REQUIRES: 0 <= rate < 1. A quarter and a half are exact.
[[nodiscard]] DropoutDraw dropout_draw(double rate, std::uint64_t key, bool gate_relu);

/// The granularity of ranges: `first` of every call but the last must be a multiple of it.
inline constexpr std::int64_t kDropoutGrain = 1024;

/// Drops in place. `first` is the index of values[0] in the whole tensor; passed[i] becomes 1 where the activation
/// gradient may come back later (kept, and with gate_relu positive), else 0.
void dropout_forward(float* values, std::uint8_t* passed, std::int64_t first, std::int64_t count,
                     const DropoutDraw& draw);
void dropout_forward(Bfloat16* values, std::uint8_t* passed, std::int64_t first, std::int64_t count,
                     const DropoutDraw& draw);

/// activation gradient[i] = passed[i] ? activation gradient[i] * scale : 0, in place.
void dropout_backward(float* activation_gradient, const std::uint8_t* passed, std::int64_t count, float scale);
void dropout_backward(Bfloat16* activation_gradient, const std::uint8_t* passed, std::int64_t count, float scale);

}  // namespace nocturne::onednn
