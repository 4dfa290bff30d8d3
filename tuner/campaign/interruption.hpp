#pragma once

/// How a person or the system ends a campaign early: first politely, then at once. Requested from signal handlers.

#include <atomic>
#include <stop_token>

namespace nocturne::tuner {

/// finish(): the run in flight is completed and counts. abandon(): it is killed, and run again by the next sitting.
/// finish() only sets a flag and is safe in a signal handler; abandon() is not: call it from a thread.
class Interruption {
 public:
  void finish() noexcept { finish_.store(true); }
  void abandon() {
    finish_.store(true);
    stop_.request_stop();
  }
  [[nodiscard]] bool requested() const noexcept { return finish_.load(); }
  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }

 private:
  std::atomic<bool> finish_{false};
  std::stop_source stop_;
};

}  // namespace nocturne::tuner
