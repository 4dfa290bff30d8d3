#pragma once

/// Folders of runs that nobody will come back for: their tuner is gone, and no row of its database names them. So are
/// left both sides of a pair in flight at a kill, pairs of `noise` and `verify`, the first run of `tune -- COMMAND`.
///
/// Each folder says in `owner.json` which process made it and which database keeps its record. Folders of living
/// processes stay, those of another database, of another machine and of other containers too, and what has no such
/// file.

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "db/process_identity.hpp"
#include "db/store.hpp"

namespace nocturne::tuner {

/// The text of `owner.json` for a run of this process whose record `database` keeps.
[[nodiscard]] std::string owner_text(const std::filesystem::path& database);

/// In the runs' folder, by name. `store` is open on the database whose folders are meant.
[[nodiscard]] std::vector<std::filesystem::path> stray_runs(const db::Store& store, const std::filesystem::path& runs);

/// Removes them; what cannot be removed stays. Returns how many went.
std::size_t remove_stray_runs(const db::Store& store, const std::filesystem::path& runs);

// A process in files of ours that others read later: {"pid", "start_ticks", "boot_id", "pid_namespace", "host"}.
[[nodiscard]] nlohmann::json process_to_json(const db::ProcessIdentity& process);
/// What is absent or of another kind keeps its default: pid 0 is no process.
[[nodiscard]] db::ProcessIdentity process_from_json(const nlohmann::json& document);

}  // namespace nocturne::tuner
