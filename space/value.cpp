#include "space/value.hpp"

#include <stdexcept>

namespace nocturne::space {

std::string to_text(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return to_json(value).dump();  // the shortest decimals that give the same double again
}

nlohmann::json to_json(const Value& value) {
  return std::visit([](const auto& held) { return nlohmann::json(held); }, value);
}

Value value_from_json(const nlohmann::json& document) {
  if (document.is_boolean()) return document.get<bool>();
  // Unsigned ones above the range of int64 would change their value without a word.
  if (document.is_number_unsigned() && document.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX))
    throw std::invalid_argument("the integer " + document.dump() + " does not fit 64 bits");
  if (document.is_number_integer()) return document.get<std::int64_t>();
  if (document.is_number_float()) return document.get<double>();
  if (document.is_string()) return document.get<std::string>();
  throw std::invalid_argument("a value is a boolean, a number or a text, not " + std::string(document.type_name()));
}

}  // namespace nocturne::space
