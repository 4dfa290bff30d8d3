#pragma once

/// How a person or the system ends a campaign early, first politely, then at once; and how it is stopped for a while.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>

namespace nocturne::tuner {

/// finish(): the run in flight is completed and counts. abandon(): it is killed, and run again by the next sitting.
/// suspend(): it is killed and nothing is begun until resume(); then it is run again.
///
/// Thread-safe: the campaign asks in one thread, another one that hears signals calls the rest. Not for signal
/// handlers.
class Interruption {
 public:
  void finish();
  void abandon();
  [[nodiscard]] bool requested() const noexcept { return finish_.load(); }
  /// Ends what is in flight. Of what is begun now: after resume() it is a fresh one.
  [[nodiscard]] std::stop_token token() const;
  /// Likewise, for a wait that can be given up without loss: finish() ends it, too.
  [[nodiscard]] std::stop_token waiting_token() const;

  void suspend();
  void resume();
  /// How often suspend() was called.
  [[nodiscard]] std::int64_t suspensions() const noexcept { return suspensions_.load(); }
  /// Returns at once unless suspended; then when resumed or ended. Called where nothing is in flight.
  void wait_while_suspended();
  /// Whether what came back undone, and was begun when suspensions() was `before`, was killed by a suspension alone: it
  /// is to be done again. Waits for the end of that suspension.
  [[nodiscard]] bool again_after_suspension(std::int64_t before);
  /// Waits until the campaign rests in wait_while_suspended(); false: not within that time.
  bool wait_until_at_rest(std::chrono::milliseconds patience);

 private:
  std::atomic<bool> finish_{false};
  std::atomic<std::int64_t> suspensions_{0};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::stop_source flight_, waits_;
  bool abandoned_ = false;
  bool suspended_ = false;
  bool at_rest_ = false;
};

}  // namespace nocturne::tuner
