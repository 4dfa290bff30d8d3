#include "tuner/cli/measuring/signals.hpp"

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

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGUSR1};

/// What the campaign may take to come to rest where nothing is in flight: a strategy that thinks longer is stopped in
/// its thought. What is in flight is waited for, however long that takes: its supervisor sees to an end.
constexpr milliseconds kThought{2000};
/// A run takes this long to be killed, and a little more; then the user at the terminal is told.
constexpr milliseconds kSilence{3000};
constexpr milliseconds kStopLook{20};

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
  void stop_soon();
  /// Stops, once it may; goes on from there when continued.
  void stop_if_at_rest();
  void say(const std::string& sentence) const {
    if (rules.say) rules.say(sentence);
  }

  tuner::Interruption& interruption;
  const SignalRules rules;
  std::array<int, 2> pipe{-1, -1};
  std::array<struct sigaction, kSignals.size()> before{};
  std::optional<Clock::time_point> grace_ends;
  std::optional<Clock::time_point> to_stop_since;  ///< SIGTSTP was heard, and the process is not stopped yet
  bool said_why_not_yet = false;
  std::atomic<bool> terminated{false}, job_ends{false}, hung_up{false};
  std::thread thread;
};

void SignalWatch::State::listen() {
  for (;;) {
    int timeout = -1;
    if (to_stop_since) {
      timeout = static_cast<int>(kStopLook.count());
    } else if (grace_ends) {
      const auto left = std::chrono::ceil<milliseconds>(*grace_ends - Clock::now());
      timeout = static_cast<int>(std::max<milliseconds::rep>(left.count(), 0));
    }
    pollfd file{.fd = pipe[0], .events = POLLIN, .revents = 0};
    const int ready = ::poll(&file, 1, timeout);
    if (ready == 0 && to_stop_since) {
      stop_if_at_rest();
    } else if (ready == 0) {
      grace_ends.reset();
      interruption.abandon();
    }
    if (ready <= 0) continue;
    unsigned char signal = 0;
    if (::read(pipe[0], &signal, 1) != 1) continue;
    if (signal == 0) return;
    if (signal == SIGHUP)
      hang_up();
    else if (signal == SIGTSTP)
      stop_soon();
    else
      end(signal);
  }
}

void SignalWatch::State::end(int signal) {
  to_stop_since.reset();  // ending beats stopping
  if (interruption.requested()) {
    if (signal == SIGUSR1) return;  // it ends already
    grace_ends.reset();
    interruption.abandon();
    return;
  }
  interruption.finish();
  if (signal == SIGUSR1) {
    job_ends = true;
    say("The job's time is nearly over: ending after what is in flight.");
    return;
  }
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

void SignalWatch::State::stop_soon() {
  if (to_stop_since || interruption.requested()) return;
  interruption.suspend();
  to_stop_since = Clock::now();
  said_why_not_yet = false;
}

void SignalWatch::State::stop_if_at_rest() {
  const auto waited = Clock::now() - *to_stop_since;
  const bool may_stop =
      interruption.wait_until_at_rest(milliseconds(0)) || (waited >= kThought && !interruption.in_flight());
  if (!may_stop) {
    // Stopped now it would keep the machine's slot, and perhaps a worker, for as long as nobody continues it.
    if (waited >= kSilence && !std::exchange(said_why_not_yet, true))
      say("Not stopped yet: what is in flight takes long to end; Ctrl-C ends the campaign instead.");
    return;
  }
  to_stop_since.reset();
  say("Stopped; the run in flight was ended, and is repeated when this goes on.");
  ::raise(SIGSTOP);  // this thread at once, and all others with it, until SIGCONT
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

ExitCode SignalWatch::interruption_code() const {
  return state_->terminated ? ExitCode::Terminated : ExitCode::Interrupted;
}

bool SignalWatch::job_ends() const {
  return state_->job_ends;
}

const std::atomic<bool>& SignalWatch::hung_up() const {
  return state_->hung_up;
}

}  // namespace nocturne::cli
