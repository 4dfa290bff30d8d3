#pragma once

/// What time it is. Clock (clock.hpp) is for what a simulated night has to see.

#include "space/unix_time.hpp"

namespace nocturne::tuner {

using space::unix_ns_of;

[[nodiscard]] inline std::int64_t now_unix_ns() {
  return unix_ns_of(std::chrono::system_clock::now());
}

}  // namespace nocturne::tuner
