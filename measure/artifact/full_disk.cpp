#include "measure/artifact/full_disk.hpp"

#include <cstdint>
#include <system_error>

namespace nocturne::measure {

bool is_nearly_full(const std::filesystem::path& folder) {
  constexpr std::uintmax_t kNearlyFullBytes = 1 << 20;
  std::error_code error;
  const auto space = std::filesystem::space(folder, error);
  return !error && space.available < kNearlyFullBytes;
}

}  // namespace nocturne::measure
