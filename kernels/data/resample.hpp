#pragma once

/// Brings a part of a picture to the size a network reads.

#include <cstdint>
#include <vector>

namespace nocturne::data {

// Which part of a picture an epoch sees.

/// In pixels of the picture; inside it, at least 1 × 1.
struct Crop {
  std::int64_t left = 0, top = 0, width = 0, height = 0;
  bool flipped = false;  ///< left and right change places
  friend bool operator==(const Crop&, const Crop&) = default;
};

/// For training: a rectangle of 8 to 100 % of the area, its width 3/4 to 4/3 of its height (the logarithm uniform),
/// anywhere; flipped every other time (Szegedy and others, "Going Deeper with Convolutions", CVPR 2015, section 6).
/// Where ten tries do not fit into the picture: the largest rectangle in its middle whose shape is allowed. A function
/// of its arguments. REQUIRES: width, height >= 1.
[[nodiscard]] Crop random_crop(std::int64_t width, std::int64_t height, std::uint64_t seed, std::int64_t epoch,
                               std::int64_t image);

/// For evaluating: the middle of the picture, of the shape that is read, 7/8 of the largest such rectangle: what is
/// left of a picture whose shorter side is resized to 256 when 224 × 224 are cut from its middle.
[[nodiscard]] Crop middle_crop(std::int64_t width, std::int64_t height, std::int64_t shape_width,
                               std::int64_t shape_height);

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
