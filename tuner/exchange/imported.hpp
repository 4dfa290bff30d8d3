#pragma once

/// What comes from elsewhere, as campaigns of a database: history for those that are tuned here.
///
/// Each gets a name of its own, made of its own name and of what tells it from others of that name (for a campaign of
/// ours the machine's fingerprint and the moment it was begun, for a recorded space its kind and parameters), so that
/// what comes again is recognised, and nothing is mixed with what was measured here.

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "search/replay/recorded_space.hpp"

namespace nocturne::tuner {

/// Where a stored campaign came from; empty: it was measured here.
[[nodiscard]] std::string imported_from(const nlohmann::json& document);

/// The campaigns of another database of ours that are worth knowing: finished ones, of which a trial is ok. One that
/// was imported there keeps its name.
[[nodiscard]] std::vector<db::ImportedCampaign> campaigns_to_import(const db::Store& store,
                                                                    const std::string& file_name);

/// A finished campaign of which each row is a trial; the objective is the time of its one epoch, in seconds where the
/// source says its unit. `now_unix_ns`: when it was imported.
[[nodiscard]] db::ImportedCampaign campaign_of(const search::replay::RecordedSpace& recorded, std::int64_t now_unix_ns);

/// Whether one of these campaigns of a store was measured there and is this one: it comes from a copy of that database.
[[nodiscard]] bool is_native(std::span<const db::CampaignSummary> own, const db::ImportedCampaign& imported);

}  // namespace nocturne::tuner
