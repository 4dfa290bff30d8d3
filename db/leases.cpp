#include "db/leases.hpp"

#include <fmt/format.h>

#include "db/rows.hpp"

namespace nocturne::db {
namespace {

Error owned(const Connection& connection, CampaignId campaign, const LeaseHolder& holder, Life life) {
  const auto name =
      first_value<std::string>(connection.database(), "SELECT name FROM campaigns WHERE id = ?1", campaign);
  if (life == Life::Alive) {
    return {
        ErrorCode::Owned,
        fmt::format("campaign '{}' is being tuned by process {}. Wait for it, or end it (kill -INT {} lets it finish "
                    "its run and give its answer).",
                    name.value_or("?"), holder.process.pid, holder.process.pid)};
  }
  return {
      ErrorCode::Owned,
      fmt::format("campaign '{}' is being tuned in another container ('{}', process {} there). If that is gone, free "
                  "the campaign with: sqlite3 '{}' 'DELETE FROM leases WHERE campaign_id = {}'",
                  name.value_or("?"), holder.process.host, holder.process.pid, connection.path().string(), campaign)};
}

std::int64_t own_id(Connection& connection) {
  if (const auto known = first_value<std::int64_t>(connection.database(), "SELECT id FROM owners WHERE token = ?1",
                                                   connection.token())) {
    return *known;
  }
  const ProcessIdentity self = this_process();
  execute(connection.database(),
          "INSERT INTO owners (token, pid, start_ticks, boot_id, pid_namespace, host, since_unix_ns)"
          " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
          connection.token(), self.pid, self.start_ticks, self.boot_id, self.pid_namespace, self.host, now_unix_ns());
  return connection.database().getLastInsertRowid();
}

}  // namespace

std::optional<LeaseHolder> lease_holder(const Database& database, CampaignId campaign) {
  Statement found = query(database,
                          "SELECT token, pid, start_ticks, boot_id, pid_namespace, host"
                          " FROM leases JOIN owners ON owners.id = owner_id WHERE campaign_id = ?1",
                          campaign);
  if (!found.executeStep()) return std::nullopt;
  LeaseHolder holder;
  ProcessIdentity& process = holder.process;
  Reader(found).into(holder.token, process.pid, process.start_ticks, process.boot_id, process.pid_namespace,
                     process.host);
  return holder;
}

void check_free(const Connection& connection, CampaignId campaign) {
  const auto holder = lease_holder(connection.database(), campaign);
  if (!holder || holder->token == connection.token()) return;
  const Life life = life_of(holder->process);
  if (life != Life::Dead) throw owned(connection, campaign, *holder, life);
}

void take_lease(Connection& connection, CampaignId campaign) {
  check_free(connection, campaign);
  const std::int64_t id = own_id(connection);
  execute(
      connection.database(),
      "INSERT INTO leases (campaign_id, owner_id, taken_unix_ns) VALUES (?1, ?2, ?3)"
      " ON CONFLICT (campaign_id) DO UPDATE SET owner_id = excluded.owner_id, taken_unix_ns = excluded.taken_unix_ns",
      campaign, id, now_unix_ns());
  connection.set_owner_pid(this_process().pid);
}

void require_owner(const Connection& connection, CampaignId campaign) {
  const auto holder = lease_holder(connection.database(), campaign);
  if (holder && holder->token == connection.token()) return;
  throw Error(
      ErrorCode::NotOwner,
      fmt::format("campaign {} in '{}' is not held by this program{}. Begin or resume it first.", campaign,
                  connection.path().string(), holder ? fmt::format(", but by process {}", holder->process.pid) : ""));
}

void release_leases(const Connection& connection) {
  execute(connection.database(), "DELETE FROM leases WHERE owner_id IN (SELECT id FROM owners WHERE token = ?1)",
          connection.token());
}

}  // namespace nocturne::db
