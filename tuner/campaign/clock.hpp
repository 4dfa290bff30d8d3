#pragma once

/// The time as a campaign sees it. Abstract so that a night can be simulated in a test without waiting.

#include <time.h>

#include <chrono>

namespace nocturne::tuner {

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual std::chrono::steady_clock::time_point steady() const = 0;
  [[nodiscard]] virtual std::chrono::system_clock::time_point wall() const = 0;
  /// How long the machine has been suspended since some moment: time that the steady clock leaves out.
  [[nodiscard]] virtual std::chrono::nanoseconds slept() const { return {}; }
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

}  // namespace nocturne::tuner
