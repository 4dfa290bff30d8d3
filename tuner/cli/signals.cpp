#include "tuner/cli/signals.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace nocturne::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGTSTP};

/// How long a run in flight takes to be killed, and a little more; a strategy that is thinking is stopped in its
/// thought.
constexpr milliseconds kUntilAtRest{2000};

// A signal handler reaches nothing but globals.
int g_pipe = -1;

void on_signal(int signal) {
  const int saved = errno;
  const auto byte = static_cast<unsigned char>(signal);
  [[maybe_unused]] const ssize_t written = ::write(g_pipe, &byte, 1);
  errno = saved;
}

}  // namespace

struct SignalWatch::State {
  State(tuner::Interruption& to, SignalRules how) : interruption(to), rules(std::move(how)) {}

  void listen();
  void end(int signal);
  void hang_up();
  void stop_for_a_while();
  void say(const std::string& sentence) const {
    if (rules.say) rules.say(sentence);
  }

  tuner::Interruption& interruption;
  const SignalRules rules;
  std::array<int, 2> pipe{-1, -1};
  std::array<struct sigaction, kSignals.size()> before{};
  std::optional<Clock::time_point> grace_ends;
  std::atomic<bool> terminated{false}, hung_up{false};
  std::thread thread;
};

void SignalWatch::State::listen() {
  for (;;) {
    int timeout = -1;
    if (grace_ends) {
      const auto left = std::chrono::ceil<milliseconds>(*grace_ends - Clock::now());
      timeout = static_cast<int>(std::max<milliseconds::rep>(left.count(), 0));
    }
    pollfd file{.fd = pipe[0], .events = POLLIN, .revents = 0};
    const int ready = ::poll(&file, 1, timeout);
    if (ready == 0) {
      grace_ends.reset();
      interruption.abandon();
    }
    if (ready <= 0) continue;
    unsigned char signal = 0;
    if (::read(pipe[0], &signal, 1) != 1) continue;
    if (signal == 0) return;
    if (signal == SIGHUP) {
      hang_up();
    } else if (signal == SIGTSTP) {
      stop_for_a_while();
    } else {
      end(signal);
    }
  }
}

void SignalWatch::State::end(int signal) {
  if (interruption.requested()) {
    grace_ends.reset();
    interruption.abandon();
    return;
  }
  interruption.finish();
  if (signal == SIGINT) {
    say("Ending after the run in flight; Ctrl-C again ends at once.");
    return;
  }
  terminated = true;
  grace_ends = Clock::now() + rules.grace;
  say(fmt::format("Ending: the run in flight has {} s to be finished; SIGTERM again ends at once.",
                  static_cast<double>(rules.grace.count()) / 1000));
}

void SignalWatch::State::hang_up() {
  if (!rules.out_is_terminal && !rules.err_is_terminal) return;  // nobody was looking
  std::error_code ignored;
  std::filesystem::create_directories(rules.log.parent_path(), ignored);
  int file = ::open(rules.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) file = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  if (rules.out_is_terminal) ::dup2(file, STDOUT_FILENO);
  if (rules.err_is_terminal) ::dup2(file, STDERR_FILENO);
  ::close(file);
  hung_up = true;
  say(fmt::format("The terminal was gone at {:%Y-%m-%d %H:%M:%S}; the campaign goes on, and what it says stands here.",
                  fmt::localtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()))));
}

void SignalWatch::State::stop_for_a_while() {
  interruption.suspend();
  interruption.wait_until_at_rest(kUntilAtRest);
  say("Stopped; the run in flight was ended, and is repeated when this goes on.");
  ::kill(::getpid(), SIGSTOP);  // all threads, this one included, until SIGCONT
  say("Goes on.");
  interruption.resume();
}

SignalWatch::SignalWatch(tuner::Interruption& interruption, SignalRules rules)
    : state_(std::make_unique<State>(interruption, std::move(rules))) {
  if (::pipe2(state_->pipe.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe for signals");
  g_pipe = state_->pipe[1];
  state_->thread = std::thread([state = state_.get()] { state->listen(); });
  struct sigaction action{};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &state_->before[i]);
    const bool may_stay_ignored = kSignals[i] == SIGHUP || kSignals[i] == SIGTSTP;
    if (may_stay_ignored && state_->before[i].sa_handler == SIG_IGN) continue;
    ::sigaction(kSignals[i], &action, nullptr);
  }
}

SignalWatch::~SignalWatch() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &state_->before[i], nullptr);
  const unsigned char end = 0;
  [[maybe_unused]] const ssize_t written = ::write(state_->pipe[1], &end, 1);
  state_->thread.join();
  ::close(state_->pipe[0]);
  ::close(state_->pipe[1]);
  g_pipe = -1;
}

bool SignalWatch::terminated() const {
  return state_->terminated;
}

const std::atomic<bool>& SignalWatch::hung_up() const {
  return state_->hung_up;
}

}  // namespace nocturne::cli
