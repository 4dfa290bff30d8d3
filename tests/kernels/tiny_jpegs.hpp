#pragma once

/// Folders of small JPEGs, encoded here by libjpeg itself.

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
// jpeglib.h needs FILE.
#include <jpeglib.h>

#include <filesystem>
#include <functional>
#include <vector>

#include "tests/kernels/tiny_images.hpp"

namespace nocturne::test {

/// Values of one pixel: 1 (grey), 3 (RGB) or 4 (CMYK) of them count.
using Paint = std::function<std::array<std::uint8_t, 4>(unsigned x, unsigned y)>;

inline Bytes jpeg(unsigned width, unsigned height, const Paint& paint, int components = 3) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* packed = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &packed, &size);
  info.image_width = width;
  info.image_height = height;
  info.input_components = components;
  info.in_color_space = components == 1 ? JCS_GRAYSCALE : components == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 95, TRUE);
  jpeg_start_compress(&info, TRUE);
  Bytes row;
  for (unsigned y = 0; y < height; ++y) {
    row.clear();
    for (unsigned x = 0; x < width; ++x) {
      const auto pixel = paint(x, y);
      row.insert(row.end(), pixel.begin(), pixel.begin() + components);
    }
    JSAMPROW line = row.data();
    jpeg_write_scanlines(&info, &line, 1);
  }
  jpeg_finish_compress(&info);
  Bytes bytes(packed, packed + size);
  jpeg_destroy_compress(&info);
  std::free(packed);
  return bytes;
}

inline Bytes plain_jpeg(std::uint8_t red, std::uint8_t green, std::uint8_t blue, unsigned width = 48,
                        unsigned height = 40) {
  return jpeg(width, height, [=](unsigned, unsigned) { return std::array<std::uint8_t, 4>{red, green, blue, 0}; });
}

/// Writes FOLDER/CLASS/NAME and the folders above it.
inline void write_image(const std::filesystem::path& file, const Bytes& bytes) {
  std::filesystem::create_directories(file.parent_path());
  write_bytes(file, bytes);
}

}  // namespace nocturne::test
