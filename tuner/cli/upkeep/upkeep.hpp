#pragma once

/// What may be removed from the data folder, and in which order. Pure: who calls it reads the disk and removes.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nocturne::cli {

/// Something on disk that can be made again or is no longer needed.
struct Leftover {
  enum class Kind { Run, Build, Environment };
  Kind kind = Kind::Run;
  std::string name;  ///< id of the run, key of the build, recipe of the environment
  std::filesystem::path folder;
  std::int64_t bytes = 0;
  std::int64_t used_unix_ns = 0;  ///< a run: when it started; else when it was used last
  std::string kept_because;       ///< must stay: a sentence; empty: may go
  bool forgotten = false;         ///< nobody will ask for it: goes whatever its age
  friend bool operator==(const Leftover&, const Leftover&) = default;
};

/// Drops what is forgotten or older; then, while what is left is larger than `max_bytes`, the oldest first. Neither
/// set: nothing.
struct UpkeepRule {
  std::optional<std::chrono::nanoseconds> older_than;
  std::optional<std::int64_t> max_bytes;
};

/// Those to remove, oldest first; never one that must stay (their bytes count all the same).
[[nodiscard]] std::vector<Leftover> choose_leftovers(std::span<const Leftover> all, const UpkeepRule& rule,
                                                     std::int64_t now_unix_ns);

}  // namespace nocturne::cli
