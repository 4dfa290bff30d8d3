#pragma once

/// The exact part of the gate: the last steps of the first epoch, from the initial weights, nothing dropped. They end
/// with the epoch's smaller batch where that is trained, so that its plan is compared too.

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/onednn/trainer.hpp"
#include "kernels/worker/reporter.hpp"
#include "measure/protocol/initial_state.hpp"
#include "measure/protocol/request.hpp"

namespace nocturne::onednn {

/// Trains the steps and reports each as a sample, numbered from 0; norms before the first and after each.
/// Throws worker::Diverged.
void run_gate(const protocol::Request& request, Trainer& trainer, worker::Reporter& reporter);

/// What a trainer begins with that is fed with these images.
[[nodiscard]] protocol::InitialState initial_state_of(const Trainer& trainer, const std::vector<std::int32_t>& visits);

}  // namespace nocturne::onednn
