#include "kernels/data/scaling.hpp"

// Compiled for newer instruction sets too, and the dynamic linker picks: where the compiler's -O2 leaves this loop
// scalar it costs a hundred times a batch's share of the step. Not under sanitizers, whose run time is not ready when
// the choice is made.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define NOCTURNE_DATA_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define NOCTURNE_DATA_SANITIZED 1
#endif
#if defined(__x86_64__) && !defined(__AVX512F__) && !defined(NOCTURNE_DATA_SANITIZED) && !defined(__CUDACC__)
#define NOCTURNE_DATA_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define NOCTURNE_DATA_CLONES
#endif

namespace nocturne::data {
namespace {

NOCTURNE_DATA_CLONES void scale_plane(const std::uint8_t* __restrict bytes, float* __restrict out, std::int64_t count,
                                      float factor, float offset) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(bytes[i]) * factor + offset;
}

NOCTURNE_DATA_CLONES void scale_rgb(const std::uint8_t* __restrict bytes, float* __restrict out, std::int64_t pixels,
                                    const Scaling* scaling) {
  const Scaling red = scaling[0], green = scaling[1], blue = scaling[2];
  for (std::int64_t i = 0; i < pixels; ++i) {
    out[3 * i] = static_cast<float>(bytes[3 * i]) * red.factor + red.offset;
    out[3 * i + 1] = static_cast<float>(bytes[3 * i + 1]) * green.factor + green.offset;
    out[3 * i + 2] = static_cast<float>(bytes[3 * i + 2]) * blue.factor + blue.offset;
  }
}

}  // namespace

void scale_image(const std::uint8_t* bytes, float* out, std::int64_t pixels, std::span<const Scaling> scaling,
                 bool channels_last) {
  const auto channels = static_cast<std::int64_t>(scaling.size());
  if (!channels_last || channels == 1) {
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      const Scaling& each = scaling[static_cast<std::size_t>(channel)];
      scale_plane(bytes + channel * pixels, out + channel * pixels, pixels, each.factor, each.offset);
    }
  } else if (channels == 3) {
    scale_rgb(bytes, out, pixels, scaling.data());
  } else {
    for (std::int64_t i = 0; i < pixels * channels; ++i) {
      const Scaling& each = scaling[static_cast<std::size_t>(i % channels)];
      out[i] = static_cast<float>(bytes[i]) * each.factor + each.offset;
    }
  }
}

}  // namespace nocturne::data
