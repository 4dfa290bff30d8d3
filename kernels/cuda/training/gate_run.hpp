#pragma once

/// The exact part of the gate on the GPU: losses and norms, step by step.

#include <cstdint>
#include <vector>

#include "kernels/cuda/training/device_trainer.hpp"
#include "kernels/worker/reporter.hpp"
#include "measure/protocol/request.hpp"

namespace nocturne::cuda {

/// Trains the steps that `request.gate` asks for and reports each as a sample, numbered from 0; norms before the first
/// and after each. Writes what it begins with where the request says so. Throws worker::Diverged.
void run_gate(const protocol::Request& request, DeviceTrainer& trainer, const std::vector<std::int32_t>& visits,
              worker::Reporter& reporter);

}  // namespace nocturne::cuda
