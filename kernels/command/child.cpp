#include "kernels/command/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace nocturne::command {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
  return ends;
}

nanoseconds time_of(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

/// Runs in the child, between fork and exec: what fails is told through `report`.
[[noreturn]] void become(const ChildPlan& plan, char* const* argv, int output, int report) {
  if (output >= 0) {
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
  }
  std::string failure;
  try {
    enter_view(plan.view);
    if (!plan.folder.empty() && ::chdir(plan.folder.c_str()) != 0) {
      failure = "cannot start the command in '" + plan.folder + "': " + std::strerror(errno);
    } else {
      ::execvp(argv[0], argv);
      failure = "cannot start '" + plan.argv.front() + "': " + std::strerror(errno);
    }
  } catch (const std::exception& error) {
    failure = std::string("there is no private view of its files: ") + error.what();
  }
  if (::write(report, failure.data(), failure.size()) < 0) ::_exit(126);
  ::_exit(127);
}

/// Until it is closed.
std::string read_all(int pipe) {
  std::string text;
  std::array<char, 512> piece;
  for (;;) {
    const ssize_t count = ::read(pipe, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

Child::Child(const ChildPlan& plan) : Child() {
  for (const auto& [name, value] : plan.environment) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv;
  for (const std::string& word : plan.argv) argv.push_back(const_cast<char*>(word.c_str()));  // NOLINT: execvp's type
  argv.push_back(nullptr);
  ::signal(SIGCHLD, SIG_DFL);  // ignored, as some leave it to those they start, no end could be waited for
  std::array<int, 2> output{-1, -1};
  if (plan.read_output) output = make_pipe();
  output_ = output[0];
  const std::array<int, 2> report = make_pipe();
  began_ = std::chrono::steady_clock::now();
  pid_ = ::fork();
  if (pid_ == 0) become(plan, argv.data(), output[1], report[1]);
  const int fork_error = errno;
  ::close(report[1]);
  if (output[1] >= 0) ::close(output[1]);
  if (output_ >= 0) ::fcntl(output_, F_SETFL, O_NONBLOCK);
  if (pid_ < 0) {
    ::close(report[0]);
    throw std::runtime_error(std::string("fork: ") + std::strerror(fork_error));
  }
  const std::string failure = read_all(report[0]);
  ::close(report[0]);
  if (!failure.empty()) {
    static_cast<void>(reap(0));
    throw std::runtime_error(failure);
  }
  view_ = plan.view;                                                            // closed by exec: the command runs
  if (view_.kind != ViewKind::None) began_ = std::chrono::steady_clock::now();  // the view is no part of its time
}

Child::~Child() {
  if (output_ >= 0) ::close(output_);
}

std::optional<ChildEnd> Child::reap(int flags) {
  if (end_) return end_;
  rusage usage{};
  int status = 0;
  pid_t reaped = 0;
  do reaped = ::wait4(pid_, &status, flags, &usage);
  while (reaped < 0 && errno == EINTR);
  if (reaped == 0) return std::nullopt;
  if (reaped < 0) throw std::runtime_error(std::string("cannot wait for the command: ") + std::strerror(errno));
  end_ = ChildEnd{.status = status,
                  .wall = std::chrono::steady_clock::now() - began_,
                  .cpu = time_of(usage.ru_utime) + time_of(usage.ru_stime)};
  record_view(view_);
  return end_;
}

ChildEnd Child::wait() {
  return *reap(0);
}

std::optional<ChildEnd> Child::wait(milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  for (;;) {
    if (auto end = reap(WNOHANG)) return end;
    const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0) return std::nullopt;
    ::poll(nullptr, 0, static_cast<int>(std::min<std::int64_t>(left.count(), 10)));
  }
}

void Child::terminate() {
  if (end_) return;
  ::kill(pid_, SIGTERM);
  if (wait(milliseconds(2000))) return;
  ::kill(pid_, SIGKILL);
  static_cast<void>(reap(0));
}

}  // namespace nocturne::command
