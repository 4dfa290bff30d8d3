#pragma once

/// What a network is, as JSON: for people, and for whoever turns step times into a share of the machine's peak.

#include <nlohmann/json.hpp>

#include "kernels/networks/network.hpp"

namespace nocturne::onednn {

/// {"network", "image": [C, H, W], "classes", "parameters", "forward_flops", "backward_flops", "layers": [{"name",
/// "kind", "input", "output", "parameters", "forward_flops", "backward_flops", …}]}. All operations are those of one
/// image (LayerFigures says what is counted).
[[nodiscard]] nlohmann::ordered_json describe(const networks::Network& network);

}  // namespace nocturne::onednn
