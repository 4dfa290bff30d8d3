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

/// Takes output as it comes, in pieces of any size; a line ends with \n, or with \r as progress bars have it. The first
/// matching line ends the phase first_step, each further one is a sample. Not thread-safe.
class OutputSteps {
 public:
  using Clock = std::chrono::steady_clock;

  /// `events` outlives this. The phase first_step has begun.
  OutputSteps(const LineRule& rule, protocol::EventWriter& events) : rule_(rule), events_(events) {}

  void take(std::string_view output, Clock::time_point now);
  /// What came last without an end of line.
  void finish(Clock::time_point now);

  [[nodiscard]] bool begun() const { return begun_; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }  ///< behind the first
  /// What the last matching line said, for a rule that reads the time of the whole run.
  [[nodiscard]] std::optional<double> total_seconds() const { return total_; }

 private:
  void line(std::string_view text, Clock::time_point now);

  const LineRule& rule_;
  protocol::EventWriter& events_;
  std::string rest_;
  bool begun_ = false;
  Clock::time_point last_{};
  std::optional<std::int64_t> last_step_;
  std::int64_t steps_ = 0;
  std::optional<double> total_;
};

}  // namespace nocturne::command
