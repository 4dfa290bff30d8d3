#pragma once

/// One writer a campaign. All within a transaction of the caller.

#include <cstdint>
#include <optional>
#include <string>

#include "db/connection.hpp"
#include "db/database.hpp"
#include "db/process_identity.hpp"

namespace nocturne::db {

struct LeaseHolder {
  std::string token;
  ProcessIdentity process;
};

/// Who holds it, dead or alive.
[[nodiscard]] std::optional<LeaseHolder> lease_holder(const Database& database, CampaignId campaign);

/// Throws Owned if another store holds the campaign and is not known to be dead.
void check_free(const Connection& connection, CampaignId campaign);

/// Takes it, from a dead owner too; taken already: nothing happens. Throws Owned.
void take_lease(Connection& connection, CampaignId campaign);

/// Throws NotOwner unless this connection holds it.
void require_owner(const Connection& connection, CampaignId campaign);

/// Gives all leases of this connection back.
void release_leases(const Connection& connection);

}  // namespace nocturne::db
