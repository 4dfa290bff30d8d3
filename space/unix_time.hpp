#pragma once

/// Moments as runs and the database keep them: nanoseconds since 1970-01-01 in UTC.

#include <chrono>
#include <cstdint>

namespace nocturne::space {

[[nodiscard]] inline std::int64_t unix_ns_of(std::chrono::system_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

}  // namespace nocturne::space
