#include "kernels/command/output_steps.hpp"

#include <algorithm>
#include <cmath>

namespace nocturne::command {

std::chrono::nanoseconds nanoseconds_in(double seconds) {
  constexpr double kMost = 1e15;  // eleven days, so that thousands can be added up
  return std::chrono::nanoseconds(std::llround(std::min(seconds * 1e9, kMost)));
}

void OutputSteps::line(std::string_view text, Clock::time_point now) {
  const auto reading = rule_.read(text);
  if (!reading) return;
  if (rule_.reads_total()) {
    if (reading->total_seconds) total_ = reading->total_seconds;
    return;
  }
  const auto wall_since = now - last_;
  last_ = now;
  std::int64_t steps = 1;
  if (reading->step && last_step_) steps = *reading->step - *last_step_;
  if (reading->step) last_step_ = reading->step;
  if (!begun_) {
    begun_ = true;
    events_.phase_end("first_step");
    return;
  }
  if (steps < 1) return;  // the number began again: an epoch has ended, and what lies between is no step
  const auto wall = reading->step_seconds ? nanoseconds_in(*reading->step_seconds * static_cast<double>(steps))
                                          : std::chrono::duration_cast<std::chrono::nanoseconds>(wall_since);
  events_.sample({.first_step = steps_ + 1,
                  .steps = steps,
                  .wall_ns = std::max<std::int64_t>(1, wall.count()),
                  .loss = reading->loss.value_or(0),
                  .loss_known = reading->loss.has_value()});
  steps_ += steps;
}

}  // namespace nocturne::command
