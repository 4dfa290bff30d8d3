#include "kernels/data/scaling.hpp"

#include "kernels/data/clones.hpp"

namespace nocturne::data {
namespace {

// Where the compiler's -O2 leaves these loops scalar they cost a hundred times a batch's share of the step.

NOCTURNE_CLONES void scale_plane(const std::uint8_t* __restrict bytes, float* __restrict out, std::int64_t count,
                                 float factor, float offset) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(bytes[i]) * factor + offset;
}

NOCTURNE_CLONES void scale_rgb(const std::uint8_t* __restrict bytes, float* __restrict out, std::int64_t pixels,
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
