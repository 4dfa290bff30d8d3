#pragma once

/// How the user or the system ends a campaign early, first politely, then at once; how it is stopped for a while; and
/// how what a run needs is cut where its time is over.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

namespace nocturne::tuner {

/// finish(): the run in flight is completed and counts. abandon(): it is killed, and run again by the next session.
/// suspend(): it is killed and nothing is begun until resume(); then it is run again.
///
/// Whatever of these comes first cuts an installation or a build: unlike a run it may take an hour, and what it has
/// downloaded is kept. So does the end of prepare_until().
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

  /// An installation or a build, while this lives: from now on the time is kept that prepare_until() set.
  class Preparation {
   public:
    explicit Preparation(Interruption& interruption);
    /// Ends it.
    [[nodiscard]] std::stop_token token() const { return stop_; }

   private:
    std::stop_token stop_;
    std::jthread timer_;  ///< none where there is no such time
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

  /// What is there already has to be found, however late it is: looking for it takes no longer.
  static constexpr std::chrono::seconds kLookingTime{5};
  /// Installations and builds are cut at this moment, or `least` after they began, whatever is later; empty: at none.
  void prepare_until(std::optional<std::chrono::steady_clock::time_point> end,
                     std::chrono::nanoseconds least = kLookingTime);
  /// How long one that begins now may take; empty: as long as it wants.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> preparation_time() const;
  /// Their time is over: cuts those of this process.
  void cut_preparation();
  /// Whether one was cut for that since prepare_until() was called last.
  [[nodiscard]] bool out_of_time() const noexcept { return out_of_time_.load(); }

  /// Begins `attempt`, an installation or a build, with a token, again and again until a suspension is not what ended
  /// it. Its result is true when it succeeded.
  template <typename Attempt>
  auto prepare_past_suspensions(Attempt attempt) {
    for (;;) {
      const auto before = suspensions();
      const auto flight = begin();
      const Preparation preparation(*this);
      auto result = attempt(preparation.token());
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

  std::atomic<bool> finish_{false}, out_of_time_{false};
  std::atomic<std::int64_t> suspensions_{0};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::stop_source flight_, waits_, preparation_;
  std::optional<std::chrono::steady_clock::time_point> prepare_until_;
  std::chrono::nanoseconds least_preparation_ = kLookingTime;
  bool abandoned_ = false;
  bool suspended_ = false;
  int flights_ = 0;
  int resting_ = 0;  ///< threads that wait in begin()
};

}  // namespace nocturne::tuner
