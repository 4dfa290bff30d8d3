#pragma once

/// The value of one parameter, and its JSON form.

#include <cstdint>
#include <string>
#include <variant>

#include <nlohmann/json.hpp>

namespace nocturne::space {

/// JSON's true/false, integers, other numbers and strings keep their own alternative; 1 and 1.0 are different values.
using Value = std::variant<bool, std::int64_t, double, std::string>;

/// Readable form: true, 3, 0.25, text without quotes.
[[nodiscard]] std::string to_text(const Value& value);
[[nodiscard]] nlohmann::json to_json(const Value& value);
/// REQUIRES: a JSON boolean, number or string. Throws std::invalid_argument else.
[[nodiscard]] Value value_from_json(const nlohmann::json& document);

}  // namespace nocturne::space
