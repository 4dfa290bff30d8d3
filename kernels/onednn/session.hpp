#pragma once

/// One run from request to `end`: phases, samples, epochs, turns.

#include <optional>

#include "kernels/onednn/plan/plan.hpp"
#include "kernels/onednn/trainer.hpp"
#include "kernels/worker/reporter.hpp"
#include "measure/protocol/request.hpp"

namespace nocturne::onednn {

inline constexpr const char* kWorkerName = "nocturne-onednn";
inline constexpr const char* kWorkerVersion = "0.1.0";

/// A wrong trainer, for tests of the gate. Empty: the right one, which is all that the worker's main() knows.
struct Sabotage {
  Tampering tampering = {};
  bool no_dropout = false;
  std::optional<UpdateRule> rule = {};  ///< instead of the request's
};

/// Trains as requested and reports. Everything that can go wrong ends in an `end` event; returns the process's exit
/// code: 0 for ok, unsupported, diverged and out_of_memory, 1 for failed. Throws only where the reporter itself does.
///
/// Samples: a sample ends early at an epoch's end, and an epoch's smaller batch is a sample of its own, so that all
/// other samples are of equal work.
///
/// With `request.gate` it runs the gate's steps instead (gate_run.hpp).
[[nodiscard]] int run_request(const protocol::Request& request, worker::Reporter& reporter, Profile* profile = nullptr,
                              const Sabotage& sabotage = {});

}  // namespace nocturne::onednn
