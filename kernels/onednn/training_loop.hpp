#pragma once

/// Steps, samples, epochs and turns: when the trainer steps, and what is reported of it.

#include <cstdint>
#include <functional>

#include "kernels/onednn/reporter.hpp"
#include "kernels/onednn/trainer.hpp"
#include "measure/protocol/request.hpp"

namespace nocturne::onednn {

/// All training steps of the run, the first included; -1 where that is not known before (whole epochs, turns).
[[nodiscard]] std::int64_t steps_asked_for(const protocol::Request& request);

/// Runs the first step and then what the request says: epochs, steps, or slices allowed by its FIFO of turns.
/// `after_first_step` is called once. Throws Diverged, and std::runtime_error where the FIFO cannot be read.
void run_training(
    const protocol::Request& request, Trainer& trainer, Reporter& reporter,
    const std::function<void()>& after_first_step = [] {});

}  // namespace nocturne::onednn
