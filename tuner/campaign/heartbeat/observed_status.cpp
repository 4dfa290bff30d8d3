#include "tuner/campaign/heartbeat/observed_status.hpp"

#include <sys/types.h>

#include <chrono>
#include <string>

#include <fmt/format.h>

#include "measure/supervisor/process_tree.hpp"
#include "space/file_contents.hpp"
#include "tuner/campaign/unix_time.hpp"

namespace nocturne::tuner {
namespace {

/// Among the processes that the tuner started.
std::optional<ObservedSupervisor> supervisor_of(std::int64_t tuner) {
  std::optional<ObservedSupervisor> found;
  for (const pid_t pid : measure::descendants_of(static_cast<pid_t>(tuner))) {
    // The kernel keeps 15 letters of a name.
    const auto name = space::read_file(fmt::format("/proc/{}/comm", pid));
    if (!name || !name->starts_with("nocturne-superv")) continue;
    const ObservedSupervisor supervisor{.pid = pid, .state = measure::state_of_process(pid)};
    if (!found || supervisor.state == 'T') found = supervisor;
  }
  return found;
}

/// A writer on another machine (the file lies on a network file system) has a pid and a steady clock that mean nothing
/// here: what is left is the promise of its next word, by the wall clocks of both.
void look_across_machines(ObservedStatus& observed_status) {
  const db::ProcessIdentity self = db::this_process();
  const Heartbeat& heartbeat = *observed_status.heartbeat;
  if (heartbeat.process.boot_id == self.boot_id || heartbeat.process.host == self.host) return;
  const std::int64_t since = now_unix_ns() - heartbeat.written_unix_ns;
  observed_status.writer = db::Life::Unknown;
  observed_status.stopped = false;
  observed_status.supervisor.reset();
  observed_status.steady_ns = heartbeat.written_steady_ns + since;
}

}  // namespace

std::string_view to_text(Condition condition) {
  switch (condition) {
    case Condition::Running:
      return "running";
    case Condition::Stopped:
      return "stopped";
    case Condition::Stalled:
      return "stalled";
    case Condition::Overdue:
      return "overdue";
    case Condition::Hanging:
      return "hanging";
    case Condition::Died:
      return "died";
    case Condition::Interrupted:
      return "interrupted";
    case Condition::Finished:
      break;
  }
  return "finished";
}

Condition condition_of(const ObservedStatus& observed_status) {
  const auto& heartbeat = observed_status.heartbeat;
  const bool speaks = heartbeat && !heartbeat->ended() && observed_status.writer != db::Life::Dead;
  if (observed_status.owner_pid && !(speaks && heartbeat->process.pid == *observed_status.owner_pid))
    return Condition::Running;  // it has not spoken yet, or could not write
  if (!observed_status.owner_pid && observed_status.finished_unix_ns) return Condition::Finished;
  if (speaks) {
    if (observed_status.stopped) return Condition::Stopped;
    if (observed_status.supervisor && observed_status.supervisor->state == 'T') return Condition::Stalled;
    if (observed_status.supervisor && heartbeat->overdue_ns) return Condition::Overdue;
    const auto& next_by = heartbeat->next_by_steady_ns;
    return next_by && observed_status.steady_ns > *next_by ? Condition::Hanging : Condition::Running;
  }
  return heartbeat && !heartbeat->ended() ? Condition::Died : Condition::Interrupted;
}

ObservedStatus look_at(const std::filesystem::path& database, const db::CampaignSummary& campaign) {
  ObservedStatus observed_status{.finished_unix_ns = campaign.finished_unix_ns, .owner_pid = campaign.owner_pid};
  observed_status.heartbeat = read_heartbeat(heartbeat_file(database, campaign.id));
  // The file of another database that lay here before.
  if (observed_status.heartbeat && (observed_status.heartbeat->campaign != campaign.name ||
                                    observed_status.heartbeat->generation != campaign.generation)) {
    observed_status.heartbeat.reset();
  }
  if (observed_status.heartbeat) {
    observed_status.writer = db::life_of(observed_status.heartbeat->process);
    observed_status.stopped = observed_status.writer == db::Life::Alive &&
                              db::state_of_process(observed_status.heartbeat->process.pid) == 'T';
    if (observed_status.writer == db::Life::Alive && !observed_status.heartbeat->ended())
      observed_status.supervisor = supervisor_of(observed_status.heartbeat->process.pid);
  }
  observed_status.steady_ns = std::chrono::steady_clock::now().time_since_epoch().count();
  if (observed_status.heartbeat) look_across_machines(observed_status);
  return observed_status;
}

}  // namespace nocturne::tuner
