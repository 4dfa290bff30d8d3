#pragma once

/// What can be said of a campaign from outside: from its database, its heartbeat, and whether its process lives.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "db/records.hpp"
#include "tuner/campaign/heartbeat/heartbeat.hpp"

namespace nocturne::tuner {

/// The process that watches a run.
struct ObservedSupervisor {
  std::int64_t pid = 0;
  char state = '?';  ///< state as in proc_pid_stat(5): S, R, D, T…
};

/// What was seen, at one moment.
struct ObservedStatus {
  std::optional<std::int64_t> finished_unix_ns;  ///< the database: its work is complete
  std::optional<std::int64_t> owner_pid;         ///< the database: held by this living process
  std::optional<Heartbeat> heartbeat;            ///< this campaign's own
  db::Life writer = db::Life::Dead;              ///< whether the process that wrote the heartbeat lives
  bool stopped = false;                          ///< that process is stopped (SIGSTOP, Ctrl-Z)
  std::optional<ObservedSupervisor> supervisor;  ///< supervisor of its run; among several, one that is stopped
  std::int64_t steady_ns = 0;                    ///< now, CLOCK_MONOTONIC
};

enum class Condition {
  Running,      ///< and as lively as it promised
  Stopped,      ///< its process was stopped, and goes on when it is continued
  Stalled,      ///< its process lives, and the supervisor of its run is stopped
  Overdue,      ///< its process lives, and its run has outlived its deadline: the supervisor of it hangs
  Hanging,      ///< its process lives and has been silent for longer than it promised
  Died,         ///< its process is gone, and did not say that it ended
  Interrupted,  ///< ended by the user, the system or an error before its work was complete
  Finished,
};

[[nodiscard]] std::string_view to_text(Condition condition);  ///< running, stopped, overdue, …

/// Pure. A finished campaign is finished, whatever its heartbeat says; the process that holds it counts for more than
/// the heartbeat of another.
[[nodiscard]] Condition condition_of(const ObservedStatus& observed_status);

/// Looks: reads files, changes nothing.
[[nodiscard]] ObservedStatus look_at(const std::filesystem::path& database, const db::CampaignSummary& campaign);

}  // namespace nocturne::tuner
