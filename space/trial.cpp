#include "space/trial.hpp"

namespace nocturne::space {

void scale_times(double factor, Trial& trial) {
  if (trial.estimate) {
    trial.estimate->value *= factor;
    trial.estimate->standard_error *= factor;
  }
  if (!trial.parts) return;
  Parts& parts = *trial.parts;
  for (double* seconds : {&parts.import, &parts.data, &parts.compile, &parts.first_step_excess, &parts.epoch_overhead,
                          &parts.steady_step})
    *seconds *= factor;
}

}  // namespace nocturne::space
