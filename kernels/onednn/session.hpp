#pragma once

/// One run from request to `end`: phases, samples, epochs, turns.

#include "kernels/onednn/plan.hpp"
#include "kernels/onednn/reporter.hpp"
#include "measure/protocol/request.hpp"

namespace nocturne::onednn {

/// Trains as requested and reports. Everything that can go wrong ends in an `end` event; returns the process's exit
/// code: 0 for ok, unsupported and diverged, 1 for failed. Throws only where the reporter itself does.
///
/// Samples: a sample ends early at an epoch's end, and an epoch's smaller batch is a sample of its own, so that all
/// other samples are of equal work.
[[nodiscard]] int run_session(const protocol::Request& request, Reporter& reporter, Profile* profile = nullptr);

}  // namespace nocturne::onednn
