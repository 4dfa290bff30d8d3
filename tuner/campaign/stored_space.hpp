#pragma once

/// The space of a campaign into the database and out of it again: its parameters as they were resolved, its constraints
/// as the file had them, and what they knew of the machine.

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "space/facts.hpp"
#include "space/space.hpp"

namespace nocturne::tuner {

/// A parameter as it is stored. Empty, or an exception of the standard library, where its domain is none of ours.
[[nodiscard]] std::optional<space::ParameterSpec> parameter_of(const db::ParameterRecord& record);

/// A space as it is stored.
[[nodiscard]] std::vector<db::ParameterRecord> parameter_records(const space::Space& space);

struct StoredSpace {
  space::Space space;
  space::Facts facts;  ///< facts about the machine that tuned, as they were then
  /// A sentence for each constraint that cannot be evaluated with what is stored, and is not in force therefore.
  std::vector<std::string> without{};
};

/// Made with what was stored alone, so that a database says the same on every machine. The error is a sentence.
[[nodiscard]] std::expected<StoredSpace, std::string> stored_space(const db::Store& store,
                                                                   const db::CampaignSummary& campaign);

}  // namespace nocturne::tuner
