#pragma once

/// Moments as the database keeps them: nanoseconds since 1970-01-01 in UTC. Clock (clock.hpp) is for what a simulated
/// night has to see.

#include <chrono>
#include <cstdint>

namespace nocturne::tuner {

[[nodiscard]] inline std::int64_t unix_ns_of(std::chrono::system_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

[[nodiscard]] inline std::int64_t now_unix_ns() {
  return unix_ns_of(std::chrono::system_clock::now());
}

}  // namespace nocturne::tuner
