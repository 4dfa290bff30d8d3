#include "kernels/command/learning_curve.hpp"

#include <limits>

namespace nocturne::command {

void LearningCurve::line(std::string_view text) {
  const auto accuracy = over_ ? std::nullopt : rule_.read(text);
  if (!accuracy) return;
  const std::int64_t steps = steps_();
  if (steps <= last_) return;
  last_ = steps;
  // Its loss and the number of examples are not known.
  events_.accuracy_after(steps, *accuracy, std::numeric_limits<double>::quiet_NaN(), 1);
  over_ = (until_ && *accuracy >= *until_) || steps >= most_;
}

}  // namespace nocturne::command
