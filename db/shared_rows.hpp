#pragma once

/// What several subjects of the store write. All within a transaction of the caller.

#include <optional>
#include <span>
#include <string>

#include "db/database.hpp"
#include "db/records.hpp"

namespace nocturne::db {

/// Known already: nothing happens. Its hash, for a column that refers to it; empty: it has none.
std::optional<std::string> insert_fingerprint(Database& database, const FingerprintRecord& fingerprint);

/// The newest generation of this name and identity.
[[nodiscard]] std::optional<CampaignId> find_equal(const Database& database, const CampaignRecord& record);

/// REQUIRES: the campaign has none.
void insert_parameters(Database& database, CampaignId campaign, std::span<const ParameterRecord> parameters);

}  // namespace nocturne::db
