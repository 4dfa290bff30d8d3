#pragma once

/// Decodes JPEG with libjpeg-turbo.

#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/data/resample.hpp"

namespace nocturne::data {

/// No JPEG, or a torn one; what() says what is wrong, without the file's name.
class BrokenImage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// True where this program was built with libjpeg-turbo.
[[nodiscard]] bool can_decode_jpeg();

struct DecodedPicture {
  Picture picture;  ///< lies in the vector that was passed
  Region region;    ///< the crop, in pixels of the picture
};

/// Decodes what is needed to show `choose(width, height)` of the picture on `width` × `height` pixels.
///
/// Large pictures are decoded to a half, a quarter or an eighth of their size, where the crop still has a pixel for
/// each that is asked for: the cosine transform does it on the way. Rows above and below the crop are passed over. Grey
/// pictures become RGB, CMYK ones too. The orientation that a camera noted is not looked at. Throws BrokenImage, also
/// for a file that ends too soon; for what libjpeg only warns of and fixes without loss (bytes between two markers) it
/// does not.
[[nodiscard]] DecodedPicture decode_jpeg(std::span<const std::uint8_t> file,
                                         const std::function<Crop(std::int64_t width, std::int64_t height)>& choose,
                                         std::int64_t width, std::int64_t height, std::vector<std::uint8_t>& pixels);

}  // namespace nocturne::data
