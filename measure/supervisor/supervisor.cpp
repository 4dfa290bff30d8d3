#include "measure/supervisor/supervisor.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <utility>

#include "measure/supervisor/worker_start.hpp"
#include "space/unix_time.hpp"

namespace nocturne::measure {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

nanoseconds cpu_of(const rusage& usage) {
  const auto of = [](const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

// The kernel kills in uninterruptible sleep only when that ends; a process that sits there longer is reported.
constexpr auto kPatience = std::chrono::seconds(10);

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

int Supervisor::serve() {
  if (!read_spec()) return 1;
  start();
  while (running_) {
    sleep();
    watch();
  }
  clean_up();
  return report() ? 0 : 1;
}

bool Supervisor::read_spec() {
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t count = ::read(control_, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    lines_.append(buffer.data(), static_cast<std::size_t>(count));
    if (const auto line = lines_.next()) {
      spec_ = spec_from_json(nlohmann::json::parse(*line));
      return true;
    }
  }
}

void Supervisor::start() {
  // Without a control group of our own (no delegation, a container) limits are kept by polling: less exact, but kept.
  if (spec_.use_cgroup) {
    auto made = Cgroup::create(self_.to_text(), spec_.memory_limit_bytes, cgroup_parents());
    if (made) cgroup_.emplace(std::move(*made));
  }
  load_before_ = read_load(spec_.proc);
  oom_kills_before_ = kernel_oom_kills();
  // The wall clock only names the moment for people and for the database; every duration is of the steady clock.
  result_.started_unix_ns = space::unix_ns_of(std::chrono::system_clock::now());
  OpenFile log;
  if (auto folder = RunFolder::open(spec_.folder)) {
    folder_.emplace(*std::move(folder));
    log = folder_->create(kLogFile).value_or(OpenFile());
  }
  started_ = resumed_ = Clock::now();
  const StartedWorker worker = start_worker(spec_, self_.to_text(), cgroup_);
  if (worker.log_pipe >= 0) log_ = std::make_unique<LogCapture>(worker.log_pipe, std::move(log), spec_.log_cap_bytes);
  if (worker.pid < 0) {
    result_.start_error = worker.error;
    return;
  }
  worker_ = worker.pid;
  running_ = true;
  if (spec_.memory_limit_bytes) {
    const bool by_cgroup = worker.in_cgroup && cgroup_->limits_memory() && !spec_.apart;
    result_.limited_by = by_cgroup ? "cgroup" : "polling";
    if (!by_cgroup) memory_.emplace(*spec_.memory_limit_bytes);
  }
}

// Wakes for a signal, a word of the tuner, output, or the next time to look at a limit; for nothing else.
void Supervisor::sleep() {
  const Clock::time_point now = Clock::now();
  Clock::time_point wake = now + std::chrono::hours(1);
  if (kill_at_) {
    wake = std::min(wake, *kill_at_);
  } else if (!we_killed_) {
    if (!stop_wanted_) wake = std::min(wake, now + (spec_.deadline - runnable(now)));
    if (spec_.total_limit) wake = std::min(wake, started_ + *spec_.total_limit);
    if (memory_) wake = std::min(wake, next_memory_check_);
    if (spec_.apart) wake = std::min(wake, next_apart_look_);
  }
  const bool rest_log = log_ && log_->pipe() >= 0 && now < next_log_read_;
  if (rest_log) wake = std::min(wake, next_log_read_);

  std::array<pollfd, 3> files{};
  files[0] = {.fd = signals_, .events = POLLIN, .revents = 0};
  files[1] = {.fd = tuner_alive_ ? control_ : -1, .events = POLLIN, .revents = 0};
  files[2] = {.fd = log_ && !rest_log ? log_->pipe() : -1, .events = POLLIN, .revents = 0};
  const auto left = std::max(nanoseconds(0), std::chrono::duration_cast<nanoseconds>(wake - now));
  const timespec timeout{.tv_sec = left.count() / 1'000'000'000, .tv_nsec = left.count() % 1'000'000'000};
  if (::ppoll(files.data(), files.size(), &timeout, nullptr) <= 0) return;
  if (files[1].revents != 0) read_control();
  if (files[2].revents != 0) {
    // A chatterer is read every 20 ms, not once a line; a flood at once, so that it does not block.
    const bool flood = log_->drain() > (256u << 10);
    next_log_read_ = flood ? now : now + milliseconds(20);
  }
}

void Supervisor::watch() {
  read_signals();
  reap();
  if (!running_) return;
  const Clock::time_point now = Clock::now();
  check_time(now);
  check_memory(now);
  watch_apart(now);
}

void Supervisor::read_control() {
  std::array<char, 4096> buffer;
  const ssize_t count = ::recv(control_, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
    lose_tuner();
    return;
  }
  if (count > 0) lines_.append(buffer.data(), static_cast<std::size_t>(count));
  while (const auto line = lines_.next()) obey(*line);
}

void Supervisor::obey(const std::string& line) {
  const nlohmann::json document = nlohmann::json::parse(line, nullptr, false);
  const std::string command = document.is_object() ? document.value("command", "") : "";
  const Clock::time_point now = Clock::now();
  if (command == "stop" && !stop_wanted_) {
    // The deadline is for the time a worker may run: while its partner in a pair has its turn, its clock stands still.
    ran_ = runnable(now);
    stop_wanted_ = true;
    stop_told_ = spec_.apart && stop_inside();
    if (stop_told_)
      (void)send_line(control_, {{"stopped", true}});
    else
      kill_all(SIGSTOP);
  } else if (command == "continue" && stop_wanted_) {
    resumed_ = now;
    stop_wanted_ = false;
    stop_told_ = false;
    kill_all(SIGCONT);
    (void)send_line(control_, {{"stopped", false}});
  } else if (command == "kill" && !result_.killed) {
    result_.killed = true;
    result_.killed_reason = document.value("reason", "interrupted");
    if (!kill_at_) terminate(now);
  }
}

void Supervisor::lose_tuner() {
  if (!tuner_alive_) return;
  tuner_alive_ = false;
  result_.killed = true;
  result_.killed_reason = "the tuner ended";
  we_killed_ = true;
  kill_all(SIGKILL);
}

void Supervisor::read_signals() {
  signalfd_siginfo info{};
  while (::read(signals_, &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGCHLD) continue;
    // The parent-death signal also comes when only the thread ended that started us; then the tuner lives on.
    if (info.ssi_signo == SIGUSR1 && ::getppid() == tuner_) continue;
    if (info.ssi_signo == SIGUSR1) {
      lose_tuner();
    } else if (!result_.killed) {
      result_.killed = true;
      result_.killed_reason = fmt::format("the supervisor received signal {}", info.ssi_signo);
      we_killed_ = true;
      kill_all(SIGKILL);
    }
  }
}

void Supervisor::reap() {
  int status = 0;
  rusage usage{};
  pid_t pid = 0;
  while ((pid = ::wait4(-1, &status, WNOHANG | WUNTRACED, &usage)) > 0) {
    if (WIFSTOPPED(status)) {
      if (pid == worker_ && stop_wanted_ && !stop_told_) {
        stop_told_ = true;
        (void)send_line(control_, {{"stopped", true}});
      }
      continue;
    }
    result_.cpu += cpu_of(usage);  // of the process and of all that it had waited for
    max_rss_bytes_ = std::max<std::int64_t>(max_rss_bytes_, usage.ru_maxrss * 1024);
    if (pid != worker_) continue;
    running_ = false;
    result_.wall = Clock::now() - started_;
    if (WIFEXITED(status)) result_.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) result_.signal = WTERMSIG(status);
  }
}

nanoseconds Supervisor::runnable(Clock::time_point now) const {
  return stop_wanted_ ? ran_ : ran_ + (now - resumed_);
}

void Supervisor::check_time(Clock::time_point now) {
  if (kill_at_ && now >= *kill_at_) {
    kill_at_.reset();
    we_killed_ = true;
    kill_all(SIGKILL);
  }
  if (kill_at_ || we_killed_) return;
  const bool over = runnable(now) >= spec_.deadline || (spec_.total_limit && now - started_ >= *spec_.total_limit);
  // The total limit counts stopped time, too, so that a worker that is never continued ends all the same.
  if (!over) return;
  result_.timed_out = true;
  terminate(now);
}

void Supervisor::check_memory(Clock::time_point now) {
  if (!memory_ || we_killed_ || now < next_memory_check_) return;
  if (auto evidence = memory_->check(processes())) {
    result_.memory_evidence = std::move(evidence);
    we_killed_ = true;
    kill_all(SIGKILL);
  }
  next_memory_check_ = now + memory_->pause();
}

// Asks first; a stopped process hears it when it goes on.
void Supervisor::terminate(Clock::time_point now) {
  kill_all(SIGTERM);
  kill_all(SIGCONT);
  kill_at_ = now + spec_.grace;
}

void Supervisor::kill_all(int signal) {
  if (signal == SIGKILL && cgroup_) cgroup_->kill();
  for (const pid_t pid : processes()) ::kill(pid, signal);
}

// The end of a supervised run: whatever is left is killed, and the result goes to the tuner and into the folder.

std::int64_t kernel_oom_kills() {
  std::ifstream file("/proc/vmstat");
  std::string name;
  std::int64_t value = 0;
  while (file >> name >> value)
    if (name == "oom_kill") return value;
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
    // What a trainer leaves behind (loaders, servers) would share the cores with the next run.
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
  // The kernel's ru_maxrss is of the largest single process; the sampled peak is the sum of those alive together.
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
    if (const auto cpu = cgroup_->cpu_microseconds())
      result_.cpu = std::max<std::chrono::nanoseconds>(result_.cpu, std::chrono::microseconds(*cpu));
    if (const std::int64_t kills = cgroup_->oom_kills(); kills > 0 && !result_.memory_evidence) {
      result_.memory_evidence = fmt::format("the kernel killed for the control group's limit of {} ({} times)",
                                            bytes_text(spec_.memory_limit_bytes.value_or(0)), kills);
    }
  }
  result_.load = load_between(load_before_, read_load(spec_.proc), result_.cpu);
  // A group can be removed only once it is empty, which clean_up() has seen to.
  cgroup_.reset();

  const nlohmann::json document = to_json(result_);
  const std::string text = document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
  if (folder_) (void)folder_->replace(kResultFile, text);
  return tuner_alive_ && send_line(control_, {{"result", document}});
}

// A worker in a container that is not in our control group, and perhaps no descendant: found by its environment,
// removed by the runtime's own command.

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
    for (const pid_t pid : descendants_of(root))
      if (std::ranges::find(found, pid) == found.end()) found.push_back(pid);
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

void Supervisor::watch_apart(Clock::time_point now) {
  if (!spec_.apart || now < next_apart_look_) return;
  std::chrono::nanoseconds cpu{};
  for (const pid_t pid : processes_apart(descendants_of(self_.pid))) cpu += cpu_time_of(pid);
  apart_cpu_ = std::max(apart_cpu_, cpu);
  next_apart_look_ = now + kLookApart;
}

void Supervisor::let_runtime_finish() {
  if (!spec_.apart || result_.killed || result_.timed_out || result_.memory_evidence || result_.start_error) return;
  const Clock::time_point give_up = Clock::now() + kHousekeeping;
  while (!descendants_of(self_.pid).empty() && Clock::now() < give_up) {
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
  // Our signals are blocked for signalfd; the runtime's command would inherit that mask and could not be interrupted.
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, argv.front(), nullptr, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) return;
  const Clock::time_point give_up = Clock::now() + kRemoval;
  while (::waitpid(pid, nullptr, WNOHANG) == 0) {
    if (Clock::now() >= give_up) {
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

int supervise(int control, pid_t tuner) {
  ::setsid();  // a terminal's Ctrl-C is the tuner's to decide
  ::umask(077);
  // Blocked before the parent-death signal is asked for, or its default action would end us without cleaning up.
  sigset_t mask;
  sigemptyset(&mask);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1}) sigaddset(&mask, signal);
  ::sigprocmask(SIG_BLOCK, &mask, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);  // ignored, as some tuners might leave it, the kernel would reap for us
  const int signals = ::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals < 0 || ::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 || ::prctl(PR_SET_PDEATHSIG, SIGUSR1) != 0) return 1;
  if (::getppid() != tuner) return 1;  // it died before it could be noticed
  (void)::fcntl(control, F_SETFD, FD_CLOEXEC);
  return Supervisor(control, tuner, signals).serve();
}

}  // namespace nocturne::measure
