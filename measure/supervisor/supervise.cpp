#include "measure/supervisor/supervise.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <memory>
#include <utility>

#include "measure/load.hpp"
#include "measure/supervisor/cgroup.hpp"
#include "measure/supervisor/log_capture.hpp"
#include "measure/supervisor/memory_watch.hpp"
#include "measure/supervisor/process_tree.hpp"
#include "measure/supervisor/worker_start.hpp"

namespace nocturne::measure {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// The kernel kills in uninterruptible sleep only when that ends; a process that sits there longer is reported.
constexpr auto kPatience = std::chrono::seconds(10);

std::int64_t kernel_oom_kills() {
  std::ifstream file("/proc/vmstat");
  std::string name;
  std::int64_t value = 0;
  while (file >> name >> value) {
    if (name == "oom_kill") return value;
  }
  return 0;
}

nanoseconds cpu_of(const rusage& usage) {
  const auto of = [](const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

class Supervisor {
 public:
  Supervisor(int control, pid_t tuner, int signals) : control_(control), tuner_(tuner), signals_(signals) {}

  int serve() {
    if (!read_spec()) return 1;
    start();
    while (running_) {
      sleep();
      watch();
    }
    clean_up();
    return report() ? 0 : 1;
  }

 private:
  bool read_spec();
  void start();
  void sleep();
  void watch();
  void clean_up();
  bool report();

  void read_control();
  void obey(const std::string& line);
  void read_signals();
  void reap();
  void check_time(Clock::time_point now);
  void check_memory(Clock::time_point now);
  void terminate(Clock::time_point now);
  void kill_all(int signal);
  void lose_tuner();
  [[nodiscard]] nanoseconds runnable(Clock::time_point now) const;

  const int control_;
  const pid_t tuner_;
  const int signals_;
  bool tuner_alive_ = true;
  LineBuffer lines_;

  SuperviseSpec spec_;
  SuperviseResult result_;
  ProcessIdentity self_ = ProcessIdentity::of_this_process();
  std::optional<Cgroup> cgroup_;
  std::unique_ptr<LogCapture> log_;
  std::optional<MemoryWatch> memory_;  // only where no control group limits
  LoadSnapshot load_before_;
  std::int64_t oom_kills_before_ = 0;

  pid_t worker_ = -1;
  bool running_ = false;
  Clock::time_point started_;
  nanoseconds ran_{};  // before the stop it is in, or before resumed_
  Clock::time_point resumed_;
  bool stop_wanted_ = false;
  bool stop_told_ = false;
  std::optional<Clock::time_point> kill_at_;  // SIGTERM was sent; SIGKILL follows
  bool we_killed_ = false;
  Clock::time_point next_memory_check_;
  Clock::time_point next_log_read_;
  std::int64_t max_rss_bytes_ = 0;
};

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
  if (spec_.use_cgroup) {
    auto made = Cgroup::create(self_.to_text(), spec_.memory_limit_bytes, cgroup_parents());
    if (made) cgroup_.emplace(std::move(*made));
  }
  load_before_ = read_load(spec_.proc);
  oom_kills_before_ = kernel_oom_kills();
  result_.started_unix_ns =
      std::chrono::duration_cast<nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  started_ = resumed_ = Clock::now();
  const StartedWorker worker = start_worker(spec_, self_.to_text(), cgroup_);
  if (worker.log_pipe >= 0)
    log_ = std::make_unique<LogCapture>(worker.log_pipe, spec_.folder + "/log.txt", spec_.log_cap_bytes);
  if (worker.pid < 0) {
    result_.start_error = worker.error;
    return;
  }
  worker_ = worker.pid;
  running_ = true;
  if (spec_.memory_limit_bytes) {
    const bool by_cgroup = worker.in_cgroup && cgroup_->limits_memory();
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
    ran_ = runnable(now);
    stop_wanted_ = true;
    stop_told_ = false;
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
  if (!over) return;
  result_.timed_out = true;
  terminate(now);
}

void Supervisor::check_memory(Clock::time_point now) {
  if (!memory_ || we_killed_ || now < next_memory_check_) return;
  if (auto evidence = memory_->check(descendants_of(self_.pid))) {
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
  for (const pid_t pid : descendants_of(self_.pid)) ::kill(pid, signal);
}

// Everything that descends from the worker is a descendant of this process (a subreaper) until it is reaped here.
void Supervisor::clean_up() {
  if (!result_.killed && !result_.timed_out && !result_.memory_evidence && result_.signal == SIGKILL && !we_killed_ &&
      !(cgroup_ && cgroup_->limits_memory()) && kernel_oom_kills() > oom_kills_before_) {
    result_.memory_evidence =
        "killed while the kernel's out-of-memory killer was at work (oom_kill of /proc/vmstat rose)";
  }
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
  if (cgroup_) {
    if (const auto peak = cgroup_->peak_bytes(); peak && *peak > 0) {
      result_.peak_bytes = *peak;
      result_.peak_source = "memory.peak";
    }
    if (const auto cpu = cgroup_->cpu_microseconds()) {
      result_.cpu = std::max<nanoseconds>(result_.cpu, std::chrono::microseconds(*cpu));
    }
    if (const std::int64_t kills = cgroup_->oom_kills(); kills > 0 && !result_.memory_evidence) {
      result_.memory_evidence = fmt::format("the kernel killed for the control group's limit of {} ({} times)",
                                            bytes_text(spec_.memory_limit_bytes.value_or(0)), kills);
    }
  }
  result_.load = load_between(load_before_, read_load(spec_.proc), result_.cpu);
  cgroup_.reset();

  const nlohmann::json document = to_json(result_);
  const std::string path = spec_.folder + "/result.json";
  if (std::ofstream file(path + ".new");
      file << document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n') {
    file.close();
    (void)::rename((path + ".new").c_str(), path.c_str());
  }
  return tuner_alive_ && send_line(control_, {{"result", document}});
}

}  // namespace

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
