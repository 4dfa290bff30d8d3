#include "tuner/campaign/heartbeat/sighting.hpp"

#include <sys/types.h>

#include <chrono>
#include <string>

#include <fmt/format.h>

#include "measure/supervisor/process_tree.hpp"
#include "space/file_contents.hpp"

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

/// Of a writer on another machine (the file lies on a network file system) neither pid nor steady clock mean anything
/// here: what is left is the promise of its next word, by the wall clocks of both.
void look_across_machines(Sighting& sighting) {
  const db::ProcessIdentity self = db::this_process();
  const Heartbeat& heartbeat = *sighting.heartbeat;
  if (heartbeat.process.boot_id == self.boot_id || heartbeat.process.host == self.host) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() - heartbeat.written_unix_ns;
  sighting.writer = db::Life::Unknown;
  sighting.stopped = false;
  sighting.supervisor.reset();
  sighting.steady_ns = heartbeat.written_steady_ns + since;
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

Condition condition_of(const Sighting& sighting) {
  const auto& heartbeat = sighting.heartbeat;
  const bool speaks = heartbeat && !heartbeat->ended() && sighting.writer != db::Life::Dead;
  if (sighting.owner_pid && !(speaks && heartbeat->process.pid == *sighting.owner_pid)) {
    return Condition::Running;  // it has not spoken yet, or could not write
  }
  if (!sighting.owner_pid && sighting.finished_unix_ns) return Condition::Finished;
  if (speaks) {
    if (sighting.stopped) return Condition::Stopped;
    if (sighting.supervisor && sighting.supervisor->state == 'T') return Condition::Stalled;
    if (sighting.supervisor && heartbeat->overdue_ns) return Condition::Overdue;
    const auto& next_by = heartbeat->next_by_steady_ns;
    return next_by && sighting.steady_ns > *next_by ? Condition::Hanging : Condition::Running;
  }
  return heartbeat && !heartbeat->ended() ? Condition::Died : Condition::Interrupted;
}

Sighting look_at(const std::filesystem::path& database, const db::CampaignSummary& campaign) {
  Sighting sighting{.finished_unix_ns = campaign.finished_unix_ns, .owner_pid = campaign.owner_pid};
  sighting.heartbeat = read_heartbeat(heartbeat_file(database, campaign.id));
  // The file of another database that lay here before.
  if (sighting.heartbeat &&
      (sighting.heartbeat->campaign != campaign.name || sighting.heartbeat->generation != campaign.generation)) {
    sighting.heartbeat.reset();
  }
  if (sighting.heartbeat) {
    sighting.writer = db::life_of(sighting.heartbeat->process);
    sighting.stopped =
        sighting.writer == db::Life::Alive && db::state_of_process(sighting.heartbeat->process.pid) == 'T';
    if (sighting.writer == db::Life::Alive && !sighting.heartbeat->ended()) {
      sighting.supervisor = supervisor_of(sighting.heartbeat->process.pid);
    }
  }
  sighting.steady_ns = std::chrono::steady_clock::now().time_since_epoch().count();
  if (sighting.heartbeat) look_across_machines(sighting);
  return sighting;
}

}  // namespace nocturne::tuner
