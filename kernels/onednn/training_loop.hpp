#pragma once

/// The loop of all native workers (kernels/worker/training_loop.hpp) with this worker's trainer.

#include <functional>

#include "kernels/onednn/reporter.hpp"
#include "kernels/onednn/trainer.hpp"
#include "kernels/worker/training_loop.hpp"
#include "measure/protocol/request.hpp"

namespace nocturne::onednn {

using worker::steps_asked_for;

/// As worker::run_training.
void run_training(
    const protocol::Request& request, Trainer& trainer, Reporter& reporter,
    const std::function<void()>& after_first_step = [] {});

}  // namespace nocturne::onednn
