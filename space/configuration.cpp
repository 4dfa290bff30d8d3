#include "space/configuration.hpp"

#include <stdexcept>

#include "space/digest.hpp"

namespace nocturne::space {

const Value* Configuration::find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

std::string Configuration::text_of(std::string_view name, std::string_view otherwise) const {
  const Value* value = find(name);
  return value == nullptr ? std::string(otherwise) : to_text(*value);
}

std::optional<std::int64_t> Configuration::integer_of(std::string_view name) const {
  const auto* integer = std::get_if<std::int64_t>(find(name));
  return integer == nullptr ? std::nullopt : std::optional(*integer);
}

void Configuration::set(std::string_view name, Value value) {
  values_.insert_or_assign(std::string(name), std::move(value));
}

void Configuration::erase(std::string_view name) {
  if (const auto found = values_.find(name); found != values_.end()) values_.erase(found);
}

nlohmann::json Configuration::to_json() const {
  auto document = nlohmann::json::object();  // keys are kept sorted
  for (const auto& [name, value] : values_) document[name] = space::to_json(value);
  return document;
}

std::string Configuration::canonical() const {
  // As to_json().dump() would write it, without the tree: an identity is asked for several times a trial.
  // Invalid UTF-8 is replaced, not thrown upon: an identity must exist for whatever was read.
  const auto text = [](const nlohmann::json& part) {
    return part.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  std::string result = "{";
  for (const auto& [name, value] : values_) {  // a map: keys are sorted
    if (result.size() > 1) result += ',';
    result += text(name) + ':' + text(space::to_json(value));
  }
  return result + '}';
}

std::string Configuration::identity() const {
  return short_digest(canonical());
}

std::expected<Configuration, std::string> Configuration::from_json(const nlohmann::json& document) {
  if (!document.is_object())
    return std::unexpected("a configuration is an object, not " + std::string(document.type_name()));
  Configuration configuration;
  for (const auto& [name, value] : document.items()) {
    try {
      configuration.set(name, value_from_json(value));
    } catch (const std::invalid_argument& error) {
      return std::unexpected("'" + name + "': " + error.what());
    }
  }
  return configuration;
}

}  // namespace nocturne::space
