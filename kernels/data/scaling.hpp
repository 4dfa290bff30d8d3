#pragma once

/// Bytes to the numbers a network reads.

#include <cstdint>
#include <span>

#include "kernels/data/batch_source.hpp"

namespace nocturne::data {

/// One image: out = byte * factor + offset of its channel. `channels_last`: how both lie. REQUIRES: `pixels` of each
/// channel, scaling.size() channels.
void scale_image(const std::uint8_t* bytes, float* out, std::int64_t pixels, std::span<const Scaling> scaling,
                 bool channels_last);

}  // namespace nocturne::data
