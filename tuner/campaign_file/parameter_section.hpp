#pragma once

/// One entry of /space/parameters.

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "space/parameter.hpp"
#include "tuner/campaign_file/checks.hpp"

namespace nocturne::tuner {

/// Settles which kind of domain is meant (see `type` in the schema) and adds a problem where the keys do not fit
/// together. REQUIRES: the schema found nothing wrong at `pointer`.
[[nodiscard]] std::optional<space::ParameterSpec> parameter_spec(Checks& checks, const std::string& pointer,
                                                                 const nlohmann::json& parameter);

}  // namespace nocturne::tuner
