#include "measure/run/runner.hpp"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <random>

#include <nlohmann/json.hpp>

#include "measure/run/active_run.hpp"
#include "measure/run/own_program.hpp"
#include "measure/supervisor/log.hpp"

namespace nocturne::measure {
namespace {

using std::chrono::milliseconds;

// Four looks a second at a file that grows cost a measurement nothing that could be seen.
constexpr milliseconds kLook{250};

RunProgress progress_of(const ActiveRun& active) {
  const Events& events = active.events();
  RunProgress progress;
  progress.phase = events.open_phase();
  progress.steps = events.steps();
  progress.samples = static_cast<std::int64_t>(events.samples.size());
  if (!events.samples.empty()) progress.loss = events.samples.back().loss;
  progress.elapsed = active.elapsed();
  progress.deadline = active.plan().deadline;
  return progress;
}

bool is_plain_id(const std::string& id) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  return !id.empty() && id.size() <= 100 && id.find_first_not_of(kAllowed) == std::string::npos;
}

bool is_proper_name(const std::string& name) {
  return !name.empty() && name.find('=') == std::string::npos && name.find('\0') == std::string::npos;
}

std::string text_of(const protocol::Request& request) {
  return protocol::to_json(request).dump(1) + '\n';
}

}  // namespace

std::optional<std::string> problem_of(const RunPlan& plan) {
  if (!is_plain_id(plan.id))
    return fmt::format("'{}' is no run id: letters, digits, '-', '_', '.', at most 100", plan.id);
  if (!plan.folder.is_absolute()) return fmt::format("the run's folder '{}' is not absolute", plan.folder.string());
  if (plan.argv.empty() || plan.argv.front().empty()) return "no command was given";
  if (plan.deadline.count() <= 0) return "the deadline is not positive";
  if (plan.memory_limit_bytes && *plan.memory_limit_bytes <= 0) return "the memory limit is not positive";
  // Requests and orders travel as JSON.
  if (!is_utf8(plan.folder.string())) return "the run's folder has a name that is not UTF-8";
  if (!is_utf8(plan.request.data_folder)) return "the folder of the data has a name that is not UTF-8";
  for (const auto& word : plan.argv)
    if (!is_utf8(word) || word.find('\0') != std::string::npos) return "an argument of the command is not UTF-8";
  for (const auto& [name, value] : plan.environment) {
    if (!is_proper_name(name)) return fmt::format("'{}' is no name of an environment variable", valid_utf8(name));
    if (!is_utf8(name) || !is_utf8(value) || value.find('\0') != std::string::npos)
      return fmt::format("the environment variable {} is not UTF-8", valid_utf8(name));
  }
  for (const auto& name : plan.unset)
    if (!is_proper_name(name) || !is_utf8(name)) return "an environment variable to remove has no proper name";
  return std::nullopt;
}

space::Run run(const RunPlan& plan, const RunControl& control) {
  ActiveRun active(plan, {.program = control.supervisor, .proc = control.proc, .use_cgroup = control.use_cgroup});
  bool killed = false;
  auto next_progress = std::chrono::steady_clock::now() + kLook;
  while (!active.finished()) {
    if (control.stop.stop_requested() && !killed) {
      killed = true;
      active.kill("interrupted");
    }
    active.wait(kLook);
    const auto now = std::chrono::steady_clock::now();
    if (control.progress && now >= next_progress) {
      next_progress = now + kLook;
      control.progress(progress_of(active));
    }
  }
  return active.record();
}

std::string new_run_id() {
  std::random_device random;
  const std::uint64_t bits = (static_cast<std::uint64_t>(random()) << 32 | random()) & 0xffff'ffff'ffffULL;
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return fmt::format("{:%Y%m%dT%H%M%S}-{:012x}", fmt::gmtime(std::chrono::system_clock::to_time_t(now)), bits);
}

std::filesystem::path find_supervisor() {
  return find_own_program("nocturne-supervisor", "NOCTURNE_SUPERVISOR_PROGRAM");
}

std::expected<RunFolder, std::string> prepare_folder(const RunPlan& plan) {
  auto folder = RunFolder::make(plan.folder);
  if (!folder) return folder;
  protocol::Request request = plan.request;
  request.run_id = plan.id;
  std::expected<void, std::string> done;
  if (!plan.owner.empty()) done = folder->write(kOwnerFile, plan.owner);
  if (done) done = folder->write(kRequestFile, text_of(request));
  if (done && request.turns) {
    done = folder->make_fifo(kTurnsFile);
    request.turns.reset();
    if (done) done = folder->write(kAloneRequestFile, text_of(request));
  }
  if (!done) return std::unexpected(fmt::format("{}: {}", plan.folder.string(), done.error()));
  return folder;
}

}  // namespace nocturne::measure
