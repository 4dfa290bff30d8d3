#pragma once

/// The space of a campaign into the database and out of it again: its parameters as they were resolved, its constraints
/// as the file had them.

#include <expected>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "space/facts.hpp"
#include "space/space.hpp"

namespace nocturne::tuner {

/// A space as it is stored.
[[nodiscard]] std::vector<db::ParameterRecord> parameter_records(const space::Space& space);

struct StoredSpace {
  space::Space space;
  /// Sentences: what could not be taken over, as where a constraint names a fact that this machine does not have.
  std::string without{};
};

/// `facts`: of the machine that asks; constraints and conditions may name them. The error is a sentence.
[[nodiscard]] std::expected<StoredSpace, std::string> stored_space(const db::Store& store,
                                                                   const db::CampaignSummary& campaign,
                                                                   const space::Facts& facts);

}  // namespace nocturne::tuner
