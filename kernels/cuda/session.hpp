#pragma once

/// One run from request to `end`: phases, samples, epochs, turns, the gate.

#include "kernels/worker/reporter.hpp"
#include "measure/protocol/request.hpp"

namespace nocturne::cuda {

inline constexpr const char* kWorkerName = "nocturne-cudnn";
inline constexpr const char* kWorkerVersion = "0.1.0";

/// Trains as requested and reports. Everything that can go wrong ends in an `end` event; returns the process's exit
/// code: 0 for ok, unsupported, diverged and out_of_memory, 1 for failed. Throws only where the reporter itself does.
///
/// Without a GPU that can do what is asked the answer is `unsupported`, before any data is read.
[[nodiscard]] int run_request(const protocol::Request& request, worker::Reporter& reporter);

}  // namespace nocturne::cuda
