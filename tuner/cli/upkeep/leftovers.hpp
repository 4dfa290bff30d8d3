#pragma once

/// Reads what lies in the data folder, and removes what was chosen of it.

#include <chrono>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "tuner/cli/context.hpp"

namespace nocturne::cli {

// What may be removed from the data folder, and in which order. Pure: who calls it reads the disk and removes.

/// Something on disk that can be made again or is no longer needed.
struct Leftover {
  enum class Kind { Run, Build, Environment };
  Kind kind = Kind::Run;
  std::string name;  ///< id of the run, key of the build, recipe of the environment
  std::filesystem::path folder;
  std::int64_t bytes = 0;
  std::int64_t used_unix_ns = 0;  ///< a run: when it started; else when it was used last
  std::string kept_because{};     ///< must stay: a sentence; empty: may go
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

/// What may be looked at beside runs and builds.
struct LeftoverScope {
  bool environments = false;
};

/// Run folders that the database knows and that lie in the runs folder, those that nobody knows any more
/// (executor/stray_runs.hpp), and all builds. Runs of a campaign that a
/// living process tunes must stay; so must builds that a profile in the profiles folder names, and all builds while any
/// campaign is tuned or where a profile cannot be read. For environments the same holds; and those stay that a process
/// runs in.
[[nodiscard]] std::vector<Leftover> find_leftovers(const db::Store& store, const Context& context,
                                                   std::int64_t now_unix_ns, LeftoverScope scope = {});

/// Removes the folder and then what the database says of it. The error is a sentence; a second try goes on.
[[nodiscard]] std::expected<void, std::string> remove_leftover(const Leftover& leftover, db::Store& store,
                                                               const Context& context);

/// The folder is what a run's folder must be: ROOT/<run id>, a real folder. A database that was edited or moved cannot
/// name anything else for removal.
[[nodiscard]] bool is_run_folder(const db::RunFolder& run, const std::filesystem::path& root);

/// Bytes of all files below, not following links. 0 where there is nothing.
[[nodiscard]] std::int64_t folder_bytes(const std::filesystem::path& folder);

}  // namespace nocturne::cli
