#pragma once

/// The list of what passed and what failed of a preflight, for people and machines.

#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include "db/records.hpp"
#include "tuner/campaign/preflight/preflight.hpp"
#include "tuner/cli/context.hpp"

namespace nocturne::cli {

/// What is to be said of a software stack on one line: its values, the batch where there were too large ones, and why
/// it is a failed.
[[nodiscard]] std::string preflight_words(const db::PreflightRecord& record);

/// A table with a line a software stack, and the sum below it.
void print_preflight(const Context& context, std::span<const db::PreflightRecord> records,
                     const tuner::PreflightReport& report);

/// The same for machines; README.md of tuner/cli describes its keys.
[[nodiscard]] nlohmann::json preflight_json(const db::CampaignSummary& campaign,
                                            std::span<const db::PreflightRecord> records,
                                            const tuner::PreflightReport& report);

}  // namespace nocturne::cli
