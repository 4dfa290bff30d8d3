// The end of a supervised run: whatever is left is killed, and the result goes to the tuner and into the folder.

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "measure/supervisor/supervisor.hpp"

namespace nocturne::measure {
namespace {

using Clock = std::chrono::steady_clock;

// The kernel kills in uninterruptible sleep only when that ends; a process that sits there longer is reported.
constexpr auto kPatience = std::chrono::seconds(10);

}  // namespace

std::int64_t kernel_oom_kills() {
  std::ifstream file("/proc/vmstat");
  std::string name;
  std::int64_t value = 0;
  while (file >> name >> value) {
    if (name == "oom_kill") return value;
  }
  return 0;
}

// Everything that descends from the worker is a descendant of this process (a subreaper) until it is reaped here.
void Supervisor::clean_up() {
  // A container's client says 137 where its process was killed (128 + SIGKILL).
  const bool bare_kill = result_.signal == SIGKILL || (spec_.apart && result_.exit_code == 128 + SIGKILL);
  if (!result_.killed && !result_.timed_out && !result_.memory_evidence && bare_kill && !we_killed_ &&
      (spec_.apart || !(cgroup_ && cgroup_->limits_memory())) && kernel_oom_kills() > oom_kills_before_) {
    result_.memory_evidence =
        "killed while the kernel's out-of-memory killer was at work (oom_kill of /proc/vmstat rose)";
  }
  let_runtime_finish();
  const Clock::time_point give_up = Clock::now() + kPatience;
  for (bool frozen = false;; frozen = true) {
    const std::vector<pid_t> left = descendants_of(self_.pid);
    if (!frozen) result_.descendants_killed = static_cast<std::int64_t>(left.size());
    // Stopped first, so that what forks faster than we read is outrun.
    if (!frozen) kill_all(SIGSTOP);
    kill_all(SIGKILL);
    reap();
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD) break;
    if (Clock::now() >= give_up) {
      result_.survivors = left;
      break;
    }
    if (log_) (void)log_->drain();
    pollfd signals{.fd = signals_, .events = POLLIN, .revents = 0};
    ::poll(&signals, 1, 5);
    read_signals();
  }
  result_.descendants_killed += static_cast<std::int64_t>(kill_processes_of_run(spec_.run_id));
  remove_container();
  if (log_) log_->finish();
}

bool Supervisor::report() {
  if (log_) result_.log_bytes = log_->bytes();
  result_.peak_bytes = max_rss_bytes_;
  result_.peak_source = "max_rss";
  if (memory_ && memory_->peak_bytes() > result_.peak_bytes) {
    result_.peak_bytes = memory_->peak_bytes();
    result_.peak_source = "sampled";
  }
  result_.cpu += apart_cpu_;
  if (cgroup_ && !spec_.apart) {
    if (const auto peak = cgroup_->peak_bytes(); peak && *peak > 0) {
      result_.peak_bytes = *peak;
      result_.peak_source = "memory.peak";
    }
    if (const auto cpu = cgroup_->cpu_microseconds()) {
      result_.cpu = std::max<std::chrono::nanoseconds>(result_.cpu, std::chrono::microseconds(*cpu));
    }
    if (const std::int64_t kills = cgroup_->oom_kills(); kills > 0 && !result_.memory_evidence) {
      result_.memory_evidence = fmt::format("the kernel killed for the control group's limit of {} ({} times)",
                                            bytes_text(spec_.memory_limit_bytes.value_or(0)), kills);
    }
  }
  result_.load = load_between(load_before_, read_load(spec_.proc), result_.cpu);
  cgroup_.reset();

  const nlohmann::json document = to_json(result_);
  const std::string text = document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
  if (folder_) (void)folder_->replace(kResultFile, text);
  return tuner_alive_ && send_line(control_, {{"result", document}});
}

}  // namespace nocturne::measure
