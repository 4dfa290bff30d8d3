#pragma once

/// How the user or the system ends a campaign early, first politely, then at once; and how it is stopped for a while.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>

namespace nocturne::tuner {

/// finish(): the run in flight is completed and counts. abandon(): it is killed, and run again by the next session.
/// suspend(): it is killed and nothing is begun until resume(); then it is run again.
///
/// Thread-safe: the campaign asks in one thread, another one that hears signals calls the rest. Not for signal
/// handlers.
class Interruption {
 public:
  /// Something that must be over before the process may be stopped: a worker, a build, a slot that others wait for. It
  /// is in flight while this lives. Move-only: what is counted once lands once.
  class Flight {
   public:
    Flight(Flight&& other) noexcept : interruption_(other.interruption_) { other.interruption_ = nullptr; }
    Flight(const Flight&) = delete;
    Flight& operator=(const Flight&) = delete;
    Flight& operator=(Flight&&) = delete;
    ~Flight() {
      if (interruption_ != nullptr) interruption_->land();
    }

   private:
    friend class Interruption;
    explicit Flight(Interruption& interruption) : interruption_(&interruption) {}
    Interruption* interruption_;
  };

  void finish();
  void abandon();
  [[nodiscard]] bool requested() const noexcept { return finish_.load(); }
  /// Ends what is in flight. Of what is begun now: after resume() it is a fresh one.
  [[nodiscard]] std::stop_token token() const;
  /// Likewise, for a wait that can be given up without loss: finish() ends it, too.
  [[nodiscard]] std::stop_token waiting_token() const;

  /// Begins something; while suspended, waits for that to end (or for finish()) first.
  /// REQUIRES: the calling thread has nothing in flight already, or a suspension would wait for itself.
  [[nodiscard]] Flight begin();

  /// Begins `attempt` with a token, again and again until a suspension is not what ended it. Its result is true when it
  /// succeeded.
  template <typename Attempt>
  auto past_suspensions(Attempt attempt) {
    for (;;) {
      const auto before = suspensions();
      const auto flight = begin();
      auto result = attempt(token());
      if (result || !again_after_suspension(before)) return result;
    }
  }

  void suspend();
  void resume();
  /// How often suspend() was called.
  [[nodiscard]] std::int64_t suspensions() const noexcept { return suspensions_.load(); }
  /// Whether what came back undone, and was begun when suspensions() was `before`, was killed by a suspension alone: it
  /// is to be done again, and what is begun next waits for the end of that suspension.
  [[nodiscard]] bool again_after_suspension(std::int64_t before) const;
  /// Waits until the campaign rests in begin() and nothing is in flight; false: not within that time.
  bool wait_until_at_rest(std::chrono::milliseconds patience);
  /// Whether anything is in flight. Once suspended and false, it stays false until resume() or finish().
  [[nodiscard]] bool in_flight() const;

 private:
  void land() noexcept;

  std::atomic<bool> finish_{false};
  std::atomic<std::int64_t> suspensions_{0};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::stop_source flight_, waits_;
  bool abandoned_ = false;
  bool suspended_ = false;
  int flights_ = 0;
  int resting_ = 0;  ///< threads that wait in begin()
};

}  // namespace nocturne::tuner
