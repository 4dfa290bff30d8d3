#pragma once

/// What hyperfine writes with --export-json: {"results": [{"command", "mean", "stddev", "times": [seconds],
/// "exit_codes": [0], "parameters": {"threads": "4"}}]}.

#include <expected>
#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "search/replay/recorded_space.hpp"

namespace nocturne::search::replay {

/// Whether a document with `results` is one: T4 results have no commands.
[[nodiscard]] bool is_hyperfine(const nlohmann::json& document);

/// A row a command: parameters of --parameter-list and --parameter-scan, without them the one parameter `command`. The
/// objective is the mean in seconds; a command of which a run ended with another exit code than 0 failed.
[[nodiscard]] std::expected<RecordedSpace, std::string> load_hyperfine(const nlohmann::json& document,
                                                                       const std::filesystem::path& file);

}  // namespace nocturne::search::replay
