#include "space/facts_json.hpp"

#include <algorithm>
#include <optional>

namespace nocturne::space {
namespace {

std::optional<Fact> fact_from_json(const nlohmann::json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  const auto is_text = [](const nlohmann::json& each) { return each.is_string(); };
  if (value.is_array() && std::ranges::all_of(value, is_text)) return value.get<std::vector<std::string>>();
  return std::nullopt;
}

}  // namespace

nlohmann::json to_json(const Facts& facts) {
  nlohmann::json document = nlohmann::json::object();
  for (const auto& [name, fact] : facts.all())
    std::visit([&, &named = name](const auto& value) { document[named] = value; }, fact);
  return document;
}

Facts facts_from_json(const nlohmann::json& document) {
  Facts facts;
  if (!document.is_object()) return facts;
  for (const auto& [name, value] : document.items())
    if (auto fact = fact_from_json(value)) facts.set(name, *std::move(fact));
  return facts;
}

}  // namespace nocturne::space
