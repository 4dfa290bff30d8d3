#include "tuner/campaign_file/schema_check.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "space/nearest.hpp"
#include "tuner/campaign_file/schema_judge.hpp"

namespace nocturne::tuner {
namespace {

using Json = nlohmann::json;

std::string type_words(const Json& type) {
  constexpr std::array kWords = {std::pair{"boolean", "true or false"},  std::pair{"integer", "a whole number"},
                                 std::pair{"number", "a number"},        std::pair{"string", "a text"},
                                 std::pair{"object", "an object {...}"}, std::pair{"array", "a list [...]"}};
  const Json types = type.is_array() ? type : Json::array({type});
  std::vector<std::string> words;
  for (const Json& name : types) {
    for (const auto& [known, text] : kWords)
      if (name == known) words.emplace_back(text);
  }
  return fmt::format("{}", fmt::join(words, ", or "));
}

std::vector<std::string> texts_of(const Json& list) {
  std::vector<std::string> texts;
  for (const Json& value : list) texts.push_back(value.is_string() ? value.get<std::string>() : value.dump());
  return texts;
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, ignored] : object.items()) keys.push_back(key);
  return keys;
}

/// "a whole number from 1 to 1000", "a number above 0": the type and the bounds that the schema names.
std::string number_words(const Json& schema) {
  std::string words = type_words(schema.value("type", Json("number")));
  if (schema.contains("minimum")) words += fmt::format(" from {}", schema["minimum"].dump());
  if (schema.contains("exclusiveMinimum")) words += fmt::format(" above {}", schema["exclusiveMinimum"].dump());
  if (schema.contains("maximum")) words += fmt::format(" to {}", schema["maximum"].dump());
  if (schema.contains("exclusiveMaximum")) words += fmt::format(" to below {}", schema["exclusiveMaximum"].dump());
  return words;
}

std::string count_words(const Json& schema, std::string_view at_least, std::string_view at_most) {
  const Json none = nullptr;
  const Json& least = schema.contains(at_least) ? schema.at(std::string(at_least)) : none;
  const Json& most = schema.contains(at_most) ? schema.at(std::string(at_most)) : none;
  if (least == most) return least.dump();
  if (most.is_null()) return "at least " + least.dump();
  if (least.is_null()) return "at most " + most.dump();
  return fmt::format("{} to {}", least.dump(), most.dump());
}

/// What may stand where this schema applies.
std::string allowed_words(const Json& schema) {
  if (schema.contains("enum")) return fmt::format("{}", fmt::join(texts_of(schema["enum"]), ", "));
  if (schema.contains("x-form")) return schema["x-form"].get<std::string>();
  if (schema.contains("minimum") || schema.contains("maximum") || schema.contains("exclusiveMinimum"))
    return number_words(schema);
  return schema.contains("type") ? type_words(schema["type"]) : "";
}

/// One thing the judge found, with what stands there and the part of the schema that applies.
struct Finder {
  const Verdict& verdict;
  const Json& schema;  ///< without $ref
  const Json& value;
  std::vector<SchemaFinding>& findings;

  void add(std::string found, std::string allowed, std::string nearest = {}) const {
    findings.push_back({verdict.pointer, At::Value, std::move(found), std::move(allowed), std::move(nearest)});
  }

  void explain() const {
    const std::string here = "found " + shown(value);
    switch (verdict.rule) {
      case Rule::Type:
        return add(here, allowed_words(schema));
      case Rule::Enum: {
        const std::vector<std::string> known = texts_of(schema["enum"]);
        return add(here, allowed_words(schema),
                   value.is_string() ? space::nearest(value.get<std::string>(), known) : "");
      }
      case Rule::Bound:
        return add(here, number_words(schema));
      case Rule::Items:
        return add(fmt::format("a list of {} values", value.size()), count_words(schema, "minItems", "maxItems"));
      case Rule::Length:
        return add(
            value.get_ref<const std::string&>().empty() ? "an empty text" : here,
            allowed_words(schema) + fmt::format(" of {} characters", count_words(schema, "minLength", "maxLength")));
      case Rule::Pattern:
        return add(here, schema.contains("x-form") ? allowed_words(schema) : schema["pattern"].get<std::string>());
      case Rule::Required:
        return add(fmt::format("key '{}' is missing", verdict.name),
                   fmt::format("{}", allowed_words(resolve(schema["properties"][verdict.name]))));
      case Rule::UnknownKey:
        return explain_unknown_keys();
      case Rule::Other:
        return add(here + ": " + verdict.words, "");
    }
  }

  /// The judge names one key of each object, there may be more.
  void explain_unknown_keys() const {
    const std::vector<std::string> known = keys_of(schema["properties"]);
    for (const auto& [key, ignored] : value.items()) {
      if (schema["properties"].contains(key)) continue;
      findings.push_back({pointer_to(verdict.pointer, key), At::Key, fmt::format("unknown key {}", shown(key)),
                          fmt::format("{}", fmt::join(known, ", ")), space::nearest(key, known)});
    }
  }

  const Json& root;
  [[nodiscard]] const Json& resolve(const Json& part) const {
    return part.contains("$ref") ? root.at(Json::json_pointer(part["$ref"].get<std::string>().substr(1))) : part;
  }
};

/// What an object's schema says of one of its keys: a property, else what all other keys share.
const Json& schema_of_key(const Json& schema, const std::string& key) {
  const auto properties = schema.find("properties");
  if (properties != schema.end() && properties->contains(key)) return properties->at(key);
  return schema.at("additionalProperties");
}

/// The part of the schema that applies at a place, following properties, items and $ref.
const Json& schema_at(const Json& root, const Json& document, const Json::json_pointer& place) {
  std::vector<std::string> tokens;
  for (Json::json_pointer rest = place; !rest.empty(); rest.pop_back()) tokens.push_back(rest.back());
  std::ranges::reverse(tokens);
  const auto resolve = [&](const Json& part) -> const Json& {
    return part.contains("$ref") ? root.at(Json::json_pointer(part["$ref"].get<std::string>().substr(1))) : part;
  };
  const Json* schema = &resolve(root);
  const Json* value = &document;
  for (const std::string& token : tokens) {
    schema = &resolve(value->is_array() ? schema->at("items") : schema_of_key(*schema, token));
    value = value->is_array() ? &value->at(std::stoul(token)) : &value->at(token);
  }
  return *schema;
}

}  // namespace

std::vector<SchemaFinding> check_against_schema(const Json& schema, const Json& document) {
  std::vector<SchemaFinding> findings;
  for (const Verdict& verdict : judge(schema, document)) {
    const Json::json_pointer place(verdict.pointer);
    const auto same_value = [&](const SchemaFinding& f) { return f.pointer == verdict.pointer && f.at == At::Value; };
    // A value of the wrong type breaks other rules too; one sentence about it is enough.
    if (verdict.rule != Rule::Required && std::ranges::any_of(findings, same_value)) continue;
    Finder{verdict, schema_at(schema, document, place), document.at(place), findings, schema}.explain();
  }
  return findings;
}

void check_against_schema(const Json& schema, Checks& checks) {
  for (SchemaFinding& each : check_against_schema(schema, checks.root()))
    checks.add(each.pointer, std::move(each.found), std::move(each.allowed), std::move(each.nearest), each.at);
}

}  // namespace nocturne::tuner
