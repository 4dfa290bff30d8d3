#pragma once

/// Reads what lies in the data folder, and removes what was chosen of it.

#include <cstdint>
#include <expected>
#include <filesystem>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/upkeep/upkeep.hpp"

namespace nocturne::cli {

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

/// Bytes of all files below, not following links. 0 where there is nothing.
[[nodiscard]] std::int64_t folder_bytes(const std::filesystem::path& folder);

}  // namespace nocturne::cli
