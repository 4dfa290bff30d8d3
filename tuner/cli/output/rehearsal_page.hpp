#pragma once

/// The go / no-go list of a rehearsal, for people and machines.

#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include "db/records.hpp"
#include "tuner/campaign/rehearsal/rehearsal.hpp"
#include "tuner/cli/context.hpp"

namespace nocturne::cli {

/// What is to be said of a row on one line: its values, the batch where there were too large ones, and why it is a
/// no-go.
[[nodiscard]] std::string rehearsal_words(const db::RehearsalRecord& record);

/// A table with a line a row, and the sum below it.
void print_rehearsal(const Context& context, std::span<const db::RehearsalRecord> records,
                     const tuner::RehearsalReport& report);

/// The same for machines; README.md of tuner/cli describes its keys.
[[nodiscard]] nlohmann::json rehearsal_json(const db::CampaignSummary& campaign,
                                            std::span<const db::RehearsalRecord> records,
                                            const tuner::RehearsalReport& report);

}  // namespace nocturne::cli
