#include "kernels/worker/configuration_values.hpp"

#include <cmath>

#include "kernels/worker/refusal.hpp"

namespace nocturne::worker {

void refuse_value(const char* key, const nlohmann::json& value, const std::string& allowed) {
  throw Unsupported(std::string("configuration: ") + key + " = " + value.dump() + ", allowed: " + allowed);
}

const nlohmann::json* find_value(const nlohmann::json& configuration, const char* key) {
  const auto found = configuration.find(key);
  return found == configuration.end() || found->is_null() ? nullptr : &*found;
}

std::int64_t read_integer(const nlohmann::json& configuration, const char* key, std::int64_t otherwise,
                          std::int64_t most, std::int64_t least) {
  const nlohmann::json* value = find_value(configuration, key);
  if (value == nullptr) return otherwise;
  const std::string allowed = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  if (!value->is_number()) refuse_value(key, *value, allowed);
  const double number = value->get<double>();
  const bool inside = number >= static_cast<double>(least) && number <= static_cast<double>(most);
  if (!inside || number != std::floor(number)) refuse_value(key, *value, allowed);
  return static_cast<std::int64_t>(number);
}

std::string read_word(const nlohmann::json& configuration, const char* key, const std::string& otherwise,
                      const std::string& allowed) {
  const nlohmann::json* value = find_value(configuration, key);
  if (value == nullptr) return otherwise;
  if (!value->is_string()) refuse_value(key, *value, allowed);
  return value->get<std::string>();
}

std::size_t read_choice(const nlohmann::json& configuration, const char* key, const std::vector<std::string>& choices,
                        std::size_t otherwise) {
  const nlohmann::json* value = find_value(configuration, key);
  if (value == nullptr) return otherwise;
  std::string allowed;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (value->is_string() && value->get<std::string>() == choices[i]) return i;
    allowed += (i > 0 ? ", " : "") + choices[i];
  }
  refuse_value(key, *value, allowed);
}

bool read_flag(const nlohmann::json& configuration, const char* key, bool otherwise) {
  const nlohmann::json* value = find_value(configuration, key);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) refuse_value(key, *value, "true, false");
  return value->get<bool>();
}

}  // namespace nocturne::worker
