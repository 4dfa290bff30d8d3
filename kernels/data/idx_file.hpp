#pragma once

/// Reads gzipped IDX files, the format of MNIST: a big-endian magic number (two zero bytes, a type, the number of
/// dimensions), the dimensions, the values. Only unsigned bytes are read.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace nocturne::data {

struct IdxArray {
  std::vector<std::int64_t> dimensions;
  std::unique_ptr<std::uint8_t[]> storage;  ///< the unpacked file, header included
  const std::uint8_t* values = nullptr;     ///< within storage
  std::int64_t count = 0;
};

/// Reads FOLDER/NAME. Its SHA-256 must be the one FOLDER/SHA256SUMS states; that file must name it. Unpacking and
/// hashing run side by side. Throws DataError, and UnsupportedData where this program was built without zlib.
[[nodiscard]] IdxArray read_idx(const std::string& folder, const std::string& name);

}  // namespace nocturne::data
