#pragma once

/// Steps, samples, epochs and turns: when a training steps, and what is reported of it.
///
/// A sample ends with one settle(): an accelerator is waited for once a sample, not once a step.

#include <cstdint>
#include <functional>

#include "kernels/worker/reporter.hpp"
#include "kernels/worker/training.hpp"
#include "measure/protocol/request.hpp"

namespace nocturne::worker {

/// All training steps of the run, the first included; -1 where that is not known before (whole epochs, turns).
[[nodiscard]] std::int64_t steps_asked_for(const protocol::Request& request);

/// Runs the first step and then what the request says: epochs, steps, or slices allowed by its FIFO of turns.
/// `after_first_step` is called once. Throws Diverged, and std::runtime_error where the FIFO cannot be read.
void run_training(
    const protocol::Request& request, Training& training, Reporter& reporter,
    const std::function<void()>& after_first_step = [] {});

}  // namespace nocturne::worker
