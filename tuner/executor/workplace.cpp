#include "tuner/executor/workplace.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

#include <fmt/format.h>

#include "measure/artifact/process.hpp"
#include "measure/machine/machine_part.hpp"
#include "space/digest.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::tuner {
namespace {

/// A run that is killed as often as this is not killed by chance.
constexpr int kMostKills = 3;

db::Error no_room_left(const std::string& where) {
  return {db::ErrorCode::Full,
          fmt::format("no room is left on the disk of {}. Make room ('{}' lists what may go) and start again: what was "
                      "stored is safe.",
                      where, command_text({"clean"}))};
}

/// Says what the end of the session, or of its time, has cut.
std::expected<PreparedWorker, PreparationFailure> told(std::expected<PreparedWorker, PreparationFailure> prepared,
                                                       const Workplace& place) {
  const bool ends = place.interruption.requested() || place.interruption.out_of_time();
  if (ends && !prepared && prepared.error().outcome == space::Outcome::Killed)
    place.observer.note(prepared.error().reason + "; the same command goes on");
  return unless_full(std::move(prepared));
}

}  // namespace

std::optional<HeldSlot> Workplace::take_slot() const {
  auto flight = interruption.begin();  // every measurement begins here
  const std::stop_token stop = interruption.waiting_token();
  std::optional<std::chrono::steady_clock::time_point> since;
  const auto waiting = [&](const measure::SlotHolder& holder) {
    if (!since) since = std::chrono::steady_clock::now();
    observer.waiting_for_slot(holder);
  };
  // Parts of a machine measure at once.
  const measure::Slot slot{.cpus = measure::present_part().empty() ? std::vector<int>() : executor.cpus()};
  auto lock = measure::SlotLock::take(slot, spec.name, waiting, stop, slot_folder);
  std::chrono::nanoseconds left_out{};
  if (since && waited) {
    left_out = std::chrono::steady_clock::now() - *since;
    waited(left_out);
  }
  if (lock && since) observer.slot_taken(left_out);
  if (lock) return HeldSlot(std::move(flight), std::move(*lock));
  if (!lock.error().holder) observer.note(lock.error().error);  // else the wait was ended
  return std::nullopt;
}

std::expected<PreparedWorker, PreparationFailure> Workplace::prepare(const space::Configuration& configuration) const {
  return told(interruption.prepare_past_suspensions(
                  [&](std::stop_token stop) { return executor.prepare(configuration, std::move(stop)); }),
              *this);
}

std::expected<PreparedWorker, PreparationFailure> Workplace::prepare_reference(
    const space::Configuration& configuration) const {
  return told(interruption.prepare_past_suspensions(
                  [&](std::stop_token stop) { return executor.prepare_reference(configuration, std::move(stop)); }),
              *this);
}

std::expected<PreparedWorker, PreparationFailure> Workplace::prepare_in_slot(
    const space::Configuration& configuration) const {
  const Interruption::Preparation preparation(interruption);
  return told(executor.prepare(configuration, preparation.token()), *this);
}

space::Run Workplace::run(const std::function<measure::RunPlan()>& plan,
                          const std::function<void(const space::Run&)>& lost) const {
  for (int tries = 1;; ++tries) {
    const measure::RunPlan planned = plan();
    measure::RunControl control;
    control.stop = interruption.token();
    control.progress = [this](const measure::RunProgress& progress) { observer.progress(progress); };
    space::Run run = executor.run(planned, control);
    if (run.outcome == space::Outcome::Ok) return run;
    const bool killed = killed_by_others(run, control.stop);
    auto error = run.outcome != space::Outcome::Killed ? no_room_in(planned.folder) : std::nullopt;
    if (!killed && !error) error = images_gone(spec.workload);
    if (!killed && !error) return run;
    if (killed && !error && tries == kMostKills) {
      run.outcome = space::Outcome::Crashed;
      run.reason = fmt::format("killed {} times: {}", kMostKills, run.reason);
      return run;
    }
    run.outcome = space::Outcome::Killed;
    lost(run);
    if (error) throw *std::move(error);
    observer.note(fmt::format("a run was killed from outside ({}): it runs again", run.reason));
  }
}

bool killed_by_others(const space::Run& run, const std::stop_token& stop) {
  if (stop.stop_requested()) return false;
  return run.outcome == space::Outcome::Killed || (run.outcome == space::Outcome::Crashed && run.signal == SIGKILL);
}

std::optional<db::Error> no_room_in(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::path there = folder;
  while (!std::filesystem::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  if (!measure::is_nearly_full(there)) return std::nullopt;
  return no_room_left(fmt::format("'{}'", there.string()));
}

std::optional<db::Error> images_gone(const space::Workload& workload) {
  if (workload.data_folder.empty()) return std::nullopt;
  std::error_code error;
  const std::filesystem::directory_iterator entries(workload.data_folder, error);
  if (!error && entries != std::filesystem::directory_iterator()) return std::nullopt;
  return db::Error{db::ErrorCode::NotFound,
                   fmt::format("the folder of images {} {}. Bring it back and start again: what was stored is safe.",
                               workload.data_folder, error ? "cannot be read: " + error.message() : "is empty")};
}

std::optional<db::Error> no_room_for(const PreparationFailure& failure) {
  const char* words = ::strerrordesc_np(ENOSPC);
  if (!failure.no_room && !failure.reason.contains(words) && !failure.log_tail.contains(words)) return std::nullopt;
  return no_room_left(fmt::format("the builds, or of temporary files ({})", failure.reason));
}

std::expected<PreparedWorker, PreparationFailure> unless_full(
    std::expected<PreparedWorker, PreparationFailure> prepared) {
  if (prepared || prepared.error().outcome == space::Outcome::Killed) return prepared;
  if (auto no_room = no_room_for(prepared.error())) throw *std::move(no_room);
  return prepared;
}

std::string data_state(const space::Workload& workload) {
  return workload.data_folder.empty() ? std::string() : folder_state(workload.data_folder);
}

std::string folder_state(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> lines;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    struct stat info{};
    if (::stat(entry->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    lines.push_back(fmt::format("{}\n{} {}.{:09}\n", entry->path().lexically_relative(folder).string(), info.st_size,
                                info.st_mtim.tv_sec, info.st_mtim.tv_nsec));
  }
  std::ranges::sort(lines);  // a folder has no order of its own
  space::Sha256 digest;
  for (const std::string& line : lines) digest.update(line);
  return digest.finish();
}

}  // namespace nocturne::tuner
