// A worker in a container that is not in our control group, and perhaps no descendant: found by its environment,
// removed by the runtime's own command.

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string>

#include "measure/supervisor/supervisor.hpp"

namespace nocturne::measure {
namespace {

using SteadyClock = std::chrono::steady_clock;

// The processor time of processes that we do not reap is only known while they live: this is how exact it is.
constexpr std::chrono::milliseconds kLookApart{250};
// A runtime removes its container after the worker's last word; killed in the middle it would leave a stale one.
constexpr std::chrono::seconds kHousekeeping{3};
constexpr std::chrono::seconds kRemoval{10};

bool is_alive(pid_t pid) {
  return ::kill(pid, 0) == 0 || errno == EPERM;
}

void rest_a_moment() {
  const timespec pause{.tv_sec = 0, .tv_nsec = 5'000'000};
  ::nanosleep(&pause, nullptr);
}

/// Namespace of process ids that the process is in; empty if the process is gone.
std::string namespace_of(pid_t pid) {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/ns/pid", ignored).string();
}

}  // namespace

std::vector<pid_t> Supervisor::processes() {
  std::vector<pid_t> found = descendants_of(self_.pid);
  if (!spec_.apart) return found;
  for (const pid_t pid : processes_apart(found)) found.push_back(pid);
  return found;
}

// All of /proc is read only until the container's first process is known.
std::vector<pid_t> Supervisor::processes_apart(const std::vector<pid_t>& descendants) {
  if (std::ranges::none_of(apart_, is_alive)) {
    apart_ = processes_of_run(spec_.run_id);
    std::erase_if(apart_, [&](pid_t pid) { return std::ranges::find(descendants, pid) != descendants.end(); });
  }
  std::vector<pid_t> found = apart_;
  for (const pid_t root : apart_) {
    for (const pid_t pid : descendants_of(root)) {
      if (std::ranges::find(found, pid) == found.end()) found.push_back(pid);
    }
  }
  return found;
}

// What runs in the container stands still, its runtime does not: one that is stopped while it holds the lock of its
// storage keeps the pair's other side from starting. False: nothing runs inside yet.
bool Supervisor::stop_inside() {
  const std::string ours = namespace_of(self_.pid);
  bool any = false;
  for (const pid_t pid : processes()) {
    const std::string its = namespace_of(pid);
    if (its.empty() || its == ours) continue;
    any = ::kill(pid, SIGSTOP) == 0 || any;
  }
  return any;
}

void Supervisor::watch_apart(SteadyClock::time_point now) {
  if (!spec_.apart || now < next_apart_look_) return;
  std::chrono::nanoseconds cpu{};
  for (const pid_t pid : processes_apart(descendants_of(self_.pid))) cpu += cpu_time_of(pid);
  apart_cpu_ = std::max(apart_cpu_, cpu);
  next_apart_look_ = now + kLookApart;
}

void Supervisor::let_runtime_finish() {
  if (!spec_.apart || result_.killed || result_.timed_out || result_.memory_evidence || result_.start_error) return;
  const SteadyClock::time_point give_up = SteadyClock::now() + kHousekeeping;
  while (!descendants_of(self_.pid).empty() && SteadyClock::now() < give_up) {
    if (log_) (void)log_->drain();
    reap();
    rest_a_moment();
  }
}

// Every process is dead already; what is left is the runtime's record of the container.
void Supervisor::remove_container() {
  const bool ended_by_itself = !result_.killed && !result_.timed_out && !result_.memory_evidence && !result_.signal;
  if (spec_.clean_up.empty() || ended_by_itself || result_.start_error) return;
  std::vector<std::string> words = spec_.clean_up;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, argv.front(), nullptr, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) return;
  const SteadyClock::time_point give_up = SteadyClock::now() + kRemoval;
  while (::waitpid(pid, nullptr, WNOHANG) == 0) {
    if (SteadyClock::now() >= give_up) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
      return;
    }
    rest_a_moment();
  }
  // What the runtime forked meanwhile became ours.
  for (const pid_t left : descendants_of(self_.pid)) ::kill(left, SIGKILL);
  reap();
}

}  // namespace nocturne::measure
