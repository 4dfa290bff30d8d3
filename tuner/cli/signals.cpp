#include "tuner/cli/signals.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <thread>

namespace nocturne::cli {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

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
  std::array<int, 2> pipe{-1, -1};
  std::array<struct sigaction, kSignals.size()> before{};
  std::jthread thread;
};

SignalWatch::SignalWatch(tuner::Interruption& interruption, std::function<void()> told)
    : state_(std::make_unique<State>()) {
  if (::pipe2(state_->pipe.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe for signals");
  g_pipe = state_->pipe[1];
  state_->thread = std::jthread([&interruption, told = std::move(told), end = state_->pipe[0]] {
    unsigned char signal = 0;
    while (::read(end, &signal, 1) == 1 && signal != 0) {
      if (signal == SIGINT && !interruption.requested()) {
        interruption.finish();
        told();
      } else {
        interruption.abandon();
      }
    }
  });
  struct sigaction action{};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &action, &state_->before[i]);
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

}  // namespace nocturne::cli
