#pragma once

/// Files for readers that take a path, in memory where the machine has /dev/shm.

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace nocturne::fuzz {

/// A folder of this process; left to the next input, removed at the end.
class Scratch {
 public:
  Scratch() {
    const std::filesystem::path shared = "/dev/shm";
    const auto parent = ::access(shared.c_str(), W_OK) == 0 ? shared : std::filesystem::temp_directory_path();
    std::string pattern = (parent / "nocturne-fuzz-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    folder_ = pattern;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  /// Writes the file anew.
  [[nodiscard]] std::filesystem::path file(const std::string& name, std::string_view bytes) const {
    const auto path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    return path;
  }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace nocturne::fuzz
