#pragma once

/// What a strategy is told of a campaign beside its space: the same while it searches and when its results are read.

#include <cstdint>

#include <nlohmann/json.hpp>

#include "search/registry.hpp"
#include "space/facts.hpp"
#include "space/space.hpp"

namespace nocturne::tuner {

/// `batch` and `threads`: whatever the worker, the steps of an epoch are counted by the one, and processes are started
/// with the other (measure/comparison/statistics.hpp, measure/run/launch.hpp).
[[nodiscard]] search::Roles roles_of(const space::Space& space);

/// Bytes that a run may take where its campaign does not say: the rest is the system's and the tuner's.
[[nodiscard]] std::int64_t usual_memory_limit(std::int64_t usable_bytes);

/// Limit of a stored campaign in bytes: what its document says, else what the machine of `facts` has. 0: not known.
[[nodiscard]] std::int64_t memory_limit_of(const nlohmann::json& document, const space::Facts& facts);

}  // namespace nocturne::tuner
