#include "kernels/onednn/layers/elementwise.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/data/clones.hpp"
#include "kernels/onednn/random.hpp"

namespace nocturne::onednn {
namespace {

// One hash serves four neighbours, a byte each.
constexpr std::int64_t kWords = kDropoutGrain / 4;

}  // namespace

DropoutDraw dropout_draw(double rate, std::uint64_t key, bool gate_relu) {
  const auto dropped = static_cast<std::uint32_t>(std::min(std::lround(rate * 256), 255L));  // one at least stays
  return {.key = key, .dropped = dropped, .scale = 256.0F / static_cast<float>(256 - dropped), .gate_relu = gate_relu};
}

NOCTURNE_CLONES void scale_pixels(const std::uint8_t* __restrict pixels, float* __restrict out, float factor,
                                  float offset, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(pixels[i]) * factor + offset;
}

NOCTURNE_CLONES void scale_pixels(const std::uint8_t* __restrict pixels, Bfloat16* __restrict out, float factor,
                                  float offset, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = to_bf16(static_cast<float>(pixels[i]) * factor + offset);
}

// Not a number stays what it is, so that a training that runs away shows in its loss.
NOCTURNE_CLONES void add_values(float* __restrict sum, const float* __restrict other, bool relu, std::int64_t count) {
  if (relu) {
    for (std::int64_t i = 0; i < count; ++i) {
      const float value = sum[i] + other[i];
      sum[i] = value < 0.0F ? 0.0F : value;
    }
  } else {
    for (std::int64_t i = 0; i < count; ++i) sum[i] += other[i];
  }
}

NOCTURNE_CLONES void add_values(Bfloat16* __restrict sum, const Bfloat16* __restrict other, bool relu,
                                std::int64_t count) {
  if (relu) {
    for (std::int64_t i = 0; i < count; ++i) {
      const float value = to_float(sum[i]) + to_float(other[i]);
      sum[i] = to_bf16(value < 0.0F ? 0.0F : value);
    }
  } else {
    for (std::int64_t i = 0; i < count; ++i) sum[i] = to_bf16(to_float(sum[i]) + to_float(other[i]));
  }
}

NOCTURNE_CLONES void add_gated(float* __restrict sum, const float* __restrict other, const float* __restrict output,
                               std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = sum[i] + other[i];
    sum[i] = output[i] > 0.0F ? value : 0.0F;
  }
}

NOCTURNE_CLONES void add_gated(Bfloat16* __restrict sum, const Bfloat16* __restrict other,
                               const Bfloat16* __restrict output, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const Bfloat16 value = to_bf16(to_float(sum[i]) + to_float(other[i]));
    const bool open = static_cast<std::int16_t>(output[i]) > 0;  // the sign bit is the same bit
    sum[i] = open ? value : Bfloat16{0};
  }
}

NOCTURNE_CLONES void gate_relu(float* __restrict activation_gradient, const float* __restrict output,
                               std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) activation_gradient[i] = output[i] > 0.0F ? activation_gradient[i] : 0.0F;
}

NOCTURNE_CLONES void gate_relu(Bfloat16* __restrict activation_gradient, const Bfloat16* __restrict output,
                               std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const bool open = static_cast<std::int16_t>(output[i]) > 0;  // the sign bit is the same bit
    activation_gradient[i] = open ? activation_gradient[i] : Bfloat16{0};
  }
}

// Fills keep[0, kDropoutGrain) with 1 (kept) or 0 for the values from `first` on.
NOCTURNE_CLONES static void draw_kept(std::uint8_t* __restrict keep, std::int64_t first, const DropoutDraw& draw) {
  std::uint32_t words[kWords];
  const auto start = static_cast<std::uint32_t>(first / 4);
  const auto key1 = static_cast<std::uint32_t>(draw.key), key2 = static_cast<std::uint32_t>(draw.key >> 32);
  for (std::uint32_t i = 0; i < kWords; ++i) words[i] = mix32(start + i, key1, key2);
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(words);
  const auto dropped = static_cast<std::uint8_t>(draw.dropped);
  for (std::int64_t i = 0; i < kDropoutGrain; ++i) keep[i] = bytes[i] >= dropped ? 1 : 0;
}

NOCTURNE_CLONES static void apply_kept(float* __restrict values, std::uint8_t* __restrict passed,
                                       const std::uint8_t* __restrict keep, std::int64_t count, float scale,
                                       bool gate) {
  const std::uint8_t ungated = gate ? 0 : 1;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto positive = static_cast<std::uint8_t>(values[i] > 0.0F ? 1 : 0);
    passed[i] = keep[i] & (positive | ungated);
    values[i] = keep[i] != 0 ? values[i] * scale : 0.0F;
  }
}

NOCTURNE_CLONES static void apply_kept(Bfloat16* __restrict values, std::uint8_t* __restrict passed,
                                       const std::uint8_t* __restrict keep, std::int64_t count, float scale,
                                       bool gate) {
  const std::uint8_t ungated = gate ? 0 : 1;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto positive = static_cast<std::uint8_t>(static_cast<std::int16_t>(values[i]) > 0 ? 1 : 0);
    passed[i] = keep[i] & (positive | ungated);
    const Bfloat16 scaled = to_bf16(to_float(values[i]) * scale);
    values[i] = keep[i] != 0 ? scaled : Bfloat16{0};
  }
}

template <typename T>
static void drop(T* values, std::uint8_t* passed, std::int64_t first, std::int64_t count, const DropoutDraw& draw) {
  std::uint8_t keep[kDropoutGrain];
  for (std::int64_t i = 0; i < count; i += kDropoutGrain) {
    draw_kept(keep, first + i, draw);
    apply_kept(values + i, passed + i, keep, std::min(kDropoutGrain, count - i), draw.scale, draw.gate_relu);
  }
}

void dropout_forward(float* values, std::uint8_t* passed, std::int64_t first, std::int64_t count,
                     const DropoutDraw& draw) {
  drop(values, passed, first, count, draw);
}

void dropout_forward(Bfloat16* values, std::uint8_t* passed, std::int64_t first, std::int64_t count,
                     const DropoutDraw& draw) {
  drop(values, passed, first, count, draw);
}

NOCTURNE_CLONES void dropout_backward(float* __restrict activation_gradient, const std::uint8_t* __restrict passed,
                                      std::int64_t count, float scale) {
  for (std::int64_t i = 0; i < count; ++i)
    activation_gradient[i] = passed[i] != 0 ? activation_gradient[i] * scale : 0.0F;
}

NOCTURNE_CLONES void dropout_backward(Bfloat16* __restrict activation_gradient, const std::uint8_t* __restrict passed,
                                      std::int64_t count, float scale) {
  for (std::int64_t i = 0; i < count; ++i) {
    const Bfloat16 scaled = to_bf16(to_float(activation_gradient[i]) * scale);
    activation_gradient[i] = passed[i] != 0 ? scaled : Bfloat16{0};
  }
}

}  // namespace nocturne::onednn
