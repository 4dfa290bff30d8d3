#pragma once

/// What a replay found of the claims of `auto`, as tables and as JSON.

#include <span>

#include <nlohmann/json.hpp>

#include "search/replay/claims_table.hpp"
#include "search/replay/replay.hpp"
#include "tuner/cli/context.hpp"

namespace nocturne::cli {

struct ClaimsPage {
  std::span<const search::replay::RecordedSpace> spaces;
  const search::replay::ReplayOptions& options;
  const search::replay::ClaimsTable& table;
};

void print_claims(const Context& context, const ClaimsPage& page);
[[nodiscard]] nlohmann::json claims_json(const ClaimsPage& page);

}  // namespace nocturne::cli
