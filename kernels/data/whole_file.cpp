#include "kernels/data/whole_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "kernels/data/batch_source.hpp"

namespace nocturne::data {

void read_whole_file(const std::string& path, std::vector<std::uint8_t>& bytes) {
  // Not by seeking to its end: a folder has one too, anywhere.
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) throw DataError(path + ": cannot be opened: " + error.message());
  std::ifstream file(path, std::ios::binary);
  if (!file) throw DataError(path + ": cannot be opened: " + std::strerror(errno));
  bytes.resize(static_cast<std::size_t>(size));
  if (!file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size)))
    throw DataError(path + ": cannot be read");
}

}  // namespace nocturne::data
