#pragma once

/// Facts as they are stored.

#include <nlohmann/json.hpp>

#include "space/facts.hpp"

namespace nocturne::space {

/// An object of names to values; what from_json gives back is equal.
[[nodiscard]] nlohmann::json to_json(const Facts& facts);
/// What is no fact, such as an object or a list of numbers, is left out.
[[nodiscard]] Facts facts_from_json(const nlohmann::json& document);

}  // namespace nocturne::space
