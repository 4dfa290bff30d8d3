#pragma once

/// The loop of all native workers (kernels/worker/training_loop.hpp) with this worker's trainer.

#include <functional>

#include "kernels/onednn/trainer.hpp"
#include "kernels/worker/reporter.hpp"
#include "kernels/worker/training_loop.hpp"
#include "measure/protocol/request.hpp"

namespace nocturne::onednn {

/// As worker::run_training.
void run_training(
    const protocol::Request& request, Trainer& trainer, worker::Reporter& reporter,
    const std::function<void()>& after_first_step = [] {});

}  // namespace nocturne::onednn
