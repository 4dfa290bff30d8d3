#pragma once

/// Never worse than the default: what must be shown before a configuration is handed to a deployment.

#include <string>

#include "tuner/campaign/answer/answer.hpp"

namespace nocturne::deploy {

/// Why the best of this answer should not be deployed yet, and what to do, in a sentence; empty: it is the default
/// itself, nothing else trains, or fresh pairs showed it faster, its whole interval above zero.
[[nodiscard]] std::string missing_proof(const tuner::Answer& answer);

}  // namespace nocturne::deploy
