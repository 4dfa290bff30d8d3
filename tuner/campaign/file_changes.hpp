#pragma once

/// In what a campaign differs from itself when it was last measured, for the sentence that says why all is measured
/// anew.

#include <string>

#include <nlohmann/json.hpp>

namespace nocturne::tuner {

/// Of two stored documents of a campaign, the sections that decide what is measured and what differs in each: "space
/// (batch, threads), workload (network)". Parameters are named; whatever else a section has, by its key. Empty: no
/// difference.
[[nodiscard]] std::string file_changes(const nlohmann::json& before, const nlohmann::json& now);

}  // namespace nocturne::tuner
