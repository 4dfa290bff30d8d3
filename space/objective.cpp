#include "space/objective.hpp"

namespace nocturne::space {

Parts per_training(const Parts& parts, double steps_per_epoch, double epochs) {
  const double now = parts.steps_per_epoch / steps_per_epoch;
  Parts training = parts;
  training.steps_per_epoch = epochs * steps_per_epoch;
  if (now > 0) training.epoch_overhead = parts.epoch_overhead * epochs / now;
  return training;
}

double startup_time(const Parts& parts) {
  return parts.import + parts.data + parts.compile + parts.first_step_excess;
}

double total_time(const Parts& parts, double epochs) {
  return startup_time(parts) + epochs * (parts.epoch_overhead + parts.steps_per_epoch * parts.steady_step);
}

}  // namespace nocturne::space
