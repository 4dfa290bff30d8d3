#pragma once

/// The one place that knows the JSON Schema library. Its headers are slow to compile and stay behind this one.
///
/// valijson (BSD-2): header-only, in Debian, draft-07, and it works on our JSON values as they are.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace nocturne::tuner {

/// The kinds of rules that are distinguished.
enum class Rule { Type, Enum, Bound, Items, Length, Pattern, Required, UnknownKey, Other };

struct Verdict {
  std::string pointer;  ///< points at the value that broke the rule
  Rule rule = Rule::Other;
  std::string name;   ///< the missing key, for Required
  std::string words;  ///< the library's
};

/// Every broken rule, type errors before others of the same value. Throws std::runtime_error where `schema` is not a
/// schema.
[[nodiscard]] std::vector<Verdict> judge(const nlohmann::json& schema, const nlohmann::json& document);

}  // namespace nocturne::tuner
