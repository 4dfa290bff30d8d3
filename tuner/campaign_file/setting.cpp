#include "tuner/campaign_file/setting.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "space/nearest.hpp"
#include "space/parse_number.hpp"

namespace nocturne::tuner {
namespace {

using Json = nlohmann::json;

/// The place of an element: its number, or the name that an object in the list has.
std::optional<std::size_t> element_of(const Json& list, const std::string& token) {
  if (const auto number = space::parse_number<std::size_t>(token)) return *number < list.size() ? number : std::nullopt;
  const auto named = std::ranges::find_if(
      list, [&](const Json& each) { return each.is_object() && each.value("name", Json()) == Json(token); });
  return named == list.end() ? std::nullopt : std::optional(static_cast<std::size_t>(named - list.begin()));
}

std::vector<std::string> element_names(const Json& list) {
  std::vector<std::string> names;
  for (const Json& each : list)
    if (each.is_object() && each.contains("name") && each["name"].is_string())
      names.push_back(each["name"].get<std::string>());
  return names;
}

std::vector<std::string> tokens_of(const std::string& pointer) {
  std::vector<std::string> tokens;
  for (Json::json_pointer rest(pointer); !rest.empty(); rest = rest.parent_pointer()) tokens.push_back(rest.back());
  std::ranges::reverse(tokens);
  return tokens;
}

void replace_places(Document& document, const std::string& pointer, const Setting& setting) {
  std::erase_if(document.places,
                [&](const auto& each) { return each.first == pointer || each.first.starts_with(pointer + "/"); });
  document.places[pointer] = {.file = "--set", .pointer = setting.pointer};
}

}  // namespace

std::expected<Setting, std::string> read_setting(std::string_view words) {
  const auto equals = words.find('=');
  if (equals == std::string_view::npos || !words.starts_with('/')) {
    return std::unexpected(fmt::format(
        "'{}' is no setting such as /budget/wall=1h: a place in the campaign file, '=' and a value", words));
  }
  Setting setting{.pointer = std::string(words.substr(0, equals)), .value = {}};
  try {
    (void)Json::json_pointer(setting.pointer);
  } catch (const Json::exception&) {
    return std::unexpected(fmt::format("'{}' is no JSON pointer", setting.pointer));
  }
  const std::string text(words.substr(equals + 1));
  setting.value = Json::parse(text, nullptr, false);
  if (setting.value.is_discarded()) setting.value = text;
  return setting;
}

std::expected<void, std::string> apply_setting(const Setting& setting, Document& document) {
  Json* place = &document.value;
  std::string pointer;
  const auto tokens = tokens_of(setting.pointer);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string& token = tokens[i];
    if (place->is_array()) {
      const auto element = element_of(*place, token);
      if (!element) {
        return std::unexpected(fmt::format("{}: '{}' is none of the {} in {}{}", setting.pointer, token, place->size(),
                                           pointer, space::did_you_mean(token, element_names(*place))));
      }
      pointer = pointer_to(pointer, *element);
      place = &place->at(*element);
      continue;
    }
    if (!place->is_object())
      return std::unexpected(fmt::format("{}: {} is a value, with nothing in it", setting.pointer, pointer));
    pointer = pointer_to(pointer, token);
    if (i + 1 == tokens.size() && setting.value.is_null()) {
      place->erase(token);
      return {};
    }
    if (!place->contains(token)) (*place)[token] = Json::object();
    place = &(*place)[token];
  }
  *place = setting.value;
  replace_places(document, pointer, setting);
  return {};
}

}  // namespace nocturne::tuner
