#pragma once

/// A data set in MNIST's format that is learnt in seconds: in an image of class c the pixels of band c are bright.

#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/data/counter_random.hpp"
#include "kernels/data/sha256.hpp"

namespace nocturne::test {

using Bytes = std::vector<std::uint8_t>;

inline Bytes idx(const std::vector<std::uint32_t>& dimensions, const Bytes& values) {
  Bytes bytes = {0, 0, 8, static_cast<std::uint8_t>(dimensions.size())};
  for (const std::uint32_t each : dimensions)
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::uint8_t>(each >> shift));
  bytes.insert(bytes.end(), values.begin(), values.end());
  return bytes;
}

inline Bytes gzip(const Bytes& bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::runtime_error("zlib");
  Bytes packed(deflateBound(&stream, bytes.size()));
  stream.next_in = const_cast<std::uint8_t*>(bytes.data());
  stream.avail_in = static_cast<unsigned>(bytes.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<unsigned>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

inline void write_bytes(const std::filesystem::path& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
}

/// Writes the file and adds its line to SHA256SUMS.
inline void write_listed(const std::filesystem::path& folder, const std::string& name, const Bytes& bytes) {
  write_bytes(folder / name, bytes);
  std::ofstream(folder / "SHA256SUMS", std::ios::app) << data::sha256(bytes) << "  " << name << '\n';
}

inline void write_tiny_images(const std::filesystem::path& folder, std::uint32_t train, std::uint32_t test) {
  for (const auto& [prefix, count] : {std::pair{"train", train}, std::pair{"t10k", test}}) {
    Bytes images, labels;
    for (std::uint32_t n = 0; n < count; ++n) {
      const auto label = static_cast<std::uint8_t>(n % 10);
      labels.push_back(label);
      for (std::uint32_t pixel = 0; pixel < 784; ++pixel) {
        const bool bright = pixel / 28 / 2 == label;
        images.push_back(static_cast<std::uint8_t>((bright ? 200 : 0) + data::key_of(n, pixel) % 50));
      }
    }
    write_listed(folder, std::string(prefix) + "-images-idx3-ubyte.gz", gzip(idx({count, 28, 28}, images)));
    write_listed(folder, std::string(prefix) + "-labels-idx1-ubyte.gz", gzip(idx({count}, labels)));
  }
}

}  // namespace nocturne::test
