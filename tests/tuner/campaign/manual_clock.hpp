#pragma once

/// Time that passes when a test wants it to.

#include <chrono>

#include "tuner/campaign/clock.hpp"

namespace nocturne::test {

class ManualClock final : public tuner::Clock {
 public:
  [[nodiscard]] std::chrono::steady_clock::time_point steady() const override { return steady_; }
  [[nodiscard]] std::chrono::system_clock::time_point wall() const override { return wall_; }

  [[nodiscard]] std::chrono::nanoseconds slept() const override { return slept_; }

  /// Time passes.
  void pass(std::chrono::nanoseconds time) {
    steady_ += time;
    wall_ += std::chrono::duration_cast<std::chrono::system_clock::duration>(time);
  }
  /// The wall clock is set, forward or back.
  void set_wall_by(std::chrono::nanoseconds jump) {
    wall_ += std::chrono::duration_cast<std::chrono::system_clock::duration>(jump);
  }
  /// The machine is suspended for that long.
  void sleep(std::chrono::nanoseconds time) {
    slept_ += time;
    set_wall_by(time);
  }

 private:
  std::chrono::steady_clock::time_point steady_{std::chrono::hours(10)};
  std::chrono::system_clock::time_point wall_{std::chrono::seconds(1'700'000'000)};
  std::chrono::nanoseconds slept_{};
};

}  // namespace nocturne::test
