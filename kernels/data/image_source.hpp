#pragma once

/// A data set as images that are asked for one by one, in any order: what batches are made of.

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/data/batch_source.hpp"

namespace nocturne::data {

/// What one thread needs while it makes an image: grows once, is used again.
struct Workspace {
  std::vector<std::uint8_t> file;    ///< as read from the disk
  std::vector<std::uint8_t> pixels;  ///< decoded, RGB interleaved
  std::vector<float> rows;           ///< resampled across, not yet down
};

/// Images of one shape and layout, one byte a value. Thread-safe: images may be made side by side.
class ImageSource {
 public:
  ImageSource() = default;
  ImageSource(const ImageSource&) = delete;
  ImageSource& operator=(const ImageSource&) = delete;
  virtual ~ImageSource() = default;

  struct Image {
    const std::uint8_t* bytes = nullptr;  ///< `into`, or where the image lies in memory anyway
    std::int32_t label = 0;
  };

  [[nodiscard]] virtual std::int64_t count() const = 0;
  /// True where images lie in memory, so that nothing is written to `into`.
  [[nodiscard]] virtual bool stored() const = 0;
  /// Image `index`, as the epoch sees it. `into` has room for one image. Throws DataError.
  virtual Image make(std::int64_t index, std::int64_t epoch, std::uint8_t* into, Workspace& workspace) = 0;
  /// One entry a channel.
  [[nodiscard]] virtual std::span<const Scaling> scaling() const = 0;
  /// BatchSource::skipped().
  [[nodiscard]] virtual std::int64_t skipped() const { return 0; }
};

}  // namespace nocturne::data
