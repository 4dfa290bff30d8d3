#pragma once

/// What `nocturne blame` prints.

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tuner/cli/context.hpp"
#include "tuner/deploy/blame.hpp"

namespace nocturne::cli {

void print_blame(const Context& context, const std::vector<deploy::Suspect>& suspects,
                 const std::optional<deploy::WholeChange>& change, const deploy::Blame& blame);

[[nodiscard]] nlohmann::json blame_json(const std::string& name, const std::vector<deploy::Suspect>& suspects,
                                        const std::optional<deploy::WholeChange>& change, const deploy::Blame& blame);

}  // namespace nocturne::cli
