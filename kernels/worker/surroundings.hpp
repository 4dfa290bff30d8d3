#pragma once

/// What the launcher has put around this process: CPUs, allocator, huge pages, OpenMP's variables. Read, never set, and
/// reported in `ready`, so that a setting that did not arrive is seen.

#include <cstdint>
#include <nlohmann/json.hpp>

namespace nocturne::worker {

/// {"affinity": [0, 1], "allocator": "glibc", "huge_pages": {"kernel": "madvise", "bytes": 41943040},
///  "environment": {"OMP_WAIT_POLICY": "passive", …}}; `bytes` is the anonymous memory that lies on huge pages now.
[[nodiscard]] nlohmann::json surroundings();

/// Most memory this process ever had resident.
[[nodiscard]] std::int64_t peak_resident_bytes();

}  // namespace nocturne::worker
