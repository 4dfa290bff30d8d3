#pragma once

/// The time as a campaign sees it. Abstract so that a night can be simulated in a test without waiting.

#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace nocturne::tuner {

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual std::chrono::steady_clock::time_point steady() const = 0;
  [[nodiscard]] virtual std::chrono::system_clock::time_point wall() const = 0;
  /// How long the machine has been suspended since some moment: time that the steady clock leaves out.
  [[nodiscard]] virtual std::chrono::nanoseconds slept() const { return {}; }
  /// How long the steady clock has stood still since some moment, while the machine did not sleep.
  [[nodiscard]] virtual std::chrono::nanoseconds stood_still() const { return {}; }
  /// What has just passed was no time of the campaign's: where it has a clock of its own, that stood still.
  virtual void leave_out(std::chrono::nanoseconds /*time*/) const {}
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] std::chrono::steady_clock::time_point steady() const override {
    return std::chrono::steady_clock::now();
  }
  [[nodiscard]] std::chrono::system_clock::time_point wall() const override { return std::chrono::system_clock::now(); }
  [[nodiscard]] std::chrono::nanoseconds slept() const override {
    return read_clock(CLOCK_BOOTTIME) - read_clock(CLOCK_MONOTONIC);
  }

 private:
  [[nodiscard]] static std::chrono::nanoseconds read_clock(clockid_t which) {
    timespec time{};
    ::clock_gettime(which, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  }
};

/// The time of a campaign, which waits for the machine's CPUs while another one measures on them: that is none of its
/// budget, and none of a trial's time. Thread-safe.
class CampaignClock final : public Clock {
 public:
  /// `clock` outlives it.
  explicit CampaignClock(const Clock& clock) : clock_(clock) {}

  [[nodiscard]] std::chrono::steady_clock::time_point steady() const override {
    return clock_.steady() - stood_still();
  }
  [[nodiscard]] std::chrono::system_clock::time_point wall() const override { return clock_.wall(); }
  [[nodiscard]] std::chrono::nanoseconds slept() const override { return clock_.slept(); }
  [[nodiscard]] std::chrono::nanoseconds stood_still() const override {
    return std::chrono::nanoseconds(left_out_ns_.load());
  }
  void leave_out(std::chrono::nanoseconds time) const override { left_out_ns_ += time.count(); }

 private:
  const Clock& clock_;
  mutable std::atomic<std::int64_t> left_out_ns_{0};
};

/// Notices that the wall clock was set, or that the machine slept, while a session lasts.
///
/// Durations are taken from the steady clock and so are right whatever the wall clock does. Only an hour of the day
/// (--until) hangs on the wall clock: when that turns out to have been wrong, the hour is found anew, as seen from the
/// moment at which the session truly began.
class ClockWatch {
 public:
  /// Begins now. `clock` outlives it.
  explicit ClockWatch(const Clock& clock);

  /// A sentence about what happened since the last look; empty: nothing. Small corrections, of less than two minutes in
  /// all, are what a time server does.
  [[nodiscard]] std::optional<std::string> look();

  /// When it began, by the wall clock as it goes now.
  [[nodiscard]] std::chrono::system_clock::time_point began() const;

 private:
  /// How far the wall clock is ahead of what passed since the beginning, sleep included.
  [[nodiscard]] std::chrono::nanoseconds ahead() const;

  const Clock& clock_;
  std::chrono::steady_clock::time_point steady_;
  std::chrono::system_clock::time_point wall_;
  std::chrono::nanoseconds slept_{}, stood_still_{};
  std::chrono::nanoseconds known_ahead_{}, known_sleep_{};
};

}  // namespace nocturne::tuner
