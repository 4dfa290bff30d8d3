#pragma once

/// A process in files of ours that others read later: {"pid", "start_ticks", "boot_id", "pid_namespace", "host"}.

#include <nlohmann/json.hpp>

#include "db/process_identity.hpp"

namespace nocturne::tuner {

[[nodiscard]] nlohmann::json process_to_json(const db::ProcessIdentity& process);
/// What is absent or of another kind keeps its default: pid 0 is no process.
[[nodiscard]] db::ProcessIdentity process_from_json(const nlohmann::json& document);

}  // namespace nocturne::tuner
