#pragma once

/// Brings a part of a picture to the size a network reads.

#include <cstdint>
#include <vector>

namespace nocturne::data {

/// RGB, interleaved, rows without gaps.
struct Picture {
  const std::uint8_t* pixels = nullptr;
  std::int64_t width = 0, height = 0;
};

/// A rectangle between pixels: fractions are allowed, for a picture decoded smaller than its crop was chosen on.
struct Region {
  double left = 0, top = 0, width = 0, height = 0;
  bool flipped = false;
};

/// Writes width × height pixels, as three planes or (channels_last) interleaved.
///
/// Linear interpolation between pixels' centres; where the picture is reduced, the triangle is as wide as a target
/// pixel, so that none of the source is passed over. First across, then down; rounded to nearest once, at the end.
/// `rows` is room that grows once. REQUIRES: the region lies within the picture.
void resample(const Picture& from, const Region& region, std::int64_t width, std::int64_t height, bool channels_last,
              std::uint8_t* into, std::vector<float>& rows);

}  // namespace nocturne::data
