#pragma once

/// Which images the exact part of the gate trains: the last steps of the first epoch (measure/protocol/README.md).

#include <cstdint>
#include <vector>

#include "measure/protocol/initial_state.hpp"
#include "measure/protocol/request.hpp"

namespace nocturne::worker {

/// In order. They end with the epoch's smaller batch where that is trained, so that its plan is compared too. `count`:
/// images of the data set; `initial`: its batches are taken instead; null: the seed decides. Throws Unsupported where
/// an epoch has fewer steps, std::runtime_error where the file's batches do not fit. REQUIRES: request.gate.
[[nodiscard]] std::vector<std::int32_t> gate_visits(const protocol::Request& request, std::int64_t batch,
                                                    std::int64_t count, const protocol::InitialState* initial);

}  // namespace nocturne::worker
