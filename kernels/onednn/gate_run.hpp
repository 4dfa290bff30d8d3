#pragma once

/// The exact part of the gate: the last steps of the first epoch, from the initial weights, nothing dropped. They end
/// with the epoch's smaller batch where that is trained, so that its plan is compared too.

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/onednn/image_set.hpp"
#include "kernels/onednn/reporter.hpp"
#include "kernels/onednn/trainer.hpp"
#include "measure/protocol/initial_state.hpp"
#include "measure/protocol/request.hpp"

namespace nocturne::onednn {

/// The options of a training that `request.gate` asks for; `initial` (null: the seed decides) gives weights and
/// batches. Throws Unsupported where an epoch has fewer steps, std::runtime_error where the batches do not fit.
[[nodiscard]] TrainerOptions gate_options(const protocol::Request& request, const Settings& settings,
                                          const ImageSet& images, const protocol::InitialState* initial);

/// Trains the steps and reports each as a sample, numbered from 0; norms before the first and after each.
/// Throws Diverged.
void run_gate(const protocol::Request& request, Trainer& trainer, Reporter& reporter);

/// What a trainer of these options begins with.
[[nodiscard]] protocol::InitialState initial_state_of(const Trainer& trainer, const TrainerOptions& options);

}  // namespace nocturne::onednn
