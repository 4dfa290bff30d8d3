#pragma once

/// From a request's configuration (parameter name → value) to this worker's settings: precision, batch, layout,
/// threads, data_threads, prefetch, isa (or isa_cap). Parameters of other stages and of the launcher are passed over.

#include <nlohmann/json.hpp>

#include "kernels/onednn/settings.hpp"

namespace nocturne::onednn {

/// Throws worker::Unsupported with a sentence that names key, value and what is allowed.
[[nodiscard]] Settings read_settings(const nlohmann::json& configuration);

}  // namespace nocturne::onednn
