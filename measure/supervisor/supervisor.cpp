#include "measure/supervisor/supervisor.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "measure/supervisor/worker_start.hpp"

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
  if (spec_.use_cgroup) {
    auto made = Cgroup::create(self_.to_text(), spec_.memory_limit_bytes, cgroup_parents());
    if (made) cgroup_.emplace(std::move(*made));
  }
  load_before_ = read_load(spec_.proc);
  oom_kills_before_ = kernel_oom_kills();
  result_.started_unix_ns =
      std::chrono::duration_cast<nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
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
    ran_ = runnable(now);
    stop_wanted_ = true;
    stop_told_ = spec_.apart && stop_inside();
    if (stop_told_) {
      (void)send_line(control_, {{"stopped", true}});
    } else {
      kill_all(SIGSTOP);
    }
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

}  // namespace nocturne::measure
