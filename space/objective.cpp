#include "space/objective.hpp"

namespace nocturne::space {

double startup_time(const Parts& parts) {
  return parts.import + parts.data + parts.compile + parts.first_step_excess;
}

double total_time(const Parts& parts, double epochs) {
  return startup_time(parts) + epochs * (parts.epoch_overhead + parts.steps_per_epoch * parts.steady_step);
}

}  // namespace nocturne::space
