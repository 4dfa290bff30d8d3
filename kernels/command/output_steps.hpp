#pragma once

/// From the lines a command prints to the steps of its training.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/command/line_rule.hpp"
#include "measure/protocol/event_writer.hpp"

namespace nocturne::command {

/// Takes seconds from 0 on; at most eleven days: more (a date that the pattern took for a time) is no time of a step,
/// but must not look like a short one.
[[nodiscard]] std::chrono::nanoseconds nanoseconds_in(double seconds);

/// Cuts output that comes in pieces of any size into lines, which end with \n, or with \r as progress bars have it.
class OutputLines {
 public:
  /// Calls `line(std::string_view)` with each that is complete and not empty.
  template <typename Line>
  void take(std::string_view output, const Line& line) {
    for (const char c : output)
      if (c == '\n' || c == '\r')
        finish(line);
      else if (rest_.size() < kLongestLine)
        rest_ += c;
  }
  /// What came last without an end of line.
  template <typename Line>
  void finish(const Line& line) {
    if (!rest_.empty()) line(std::string_view(rest_));
    rest_.clear();
  }

 private:
  /// Longer lines are no step's report: their end is not kept.
  static constexpr std::size_t kLongestLine = 64 << 10;
  std::string rest_;
};

/// Takes lines as they come: the first that matches ends the phase first_step, each further one is a sample. Not
/// thread-safe.
class OutputSteps {
 public:
  using Clock = std::chrono::steady_clock;

  /// `events` outlives this. The phase first_step has begun.
  OutputSteps(const LineRule& rule, protocol::EventWriter& events) : rule_(rule), events_(events) {}

  void line(std::string_view text, Clock::time_point now);

  [[nodiscard]] bool begun() const { return begun_; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }  ///< behind the first
  /// What the last matching line said, for a rule that reads the time of the whole run.
  [[nodiscard]] std::optional<double> total_seconds() const { return total_; }

 private:
  const LineRule& rule_;
  protocol::EventWriter& events_;
  bool begun_ = false;
  Clock::time_point last_{};
  std::optional<std::int64_t> last_step_;
  std::int64_t steps_ = 0;
  std::optional<double> total_;
};

}  // namespace nocturne::command
