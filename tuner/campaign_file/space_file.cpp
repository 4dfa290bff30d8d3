#include "tuner/campaign_file/space_file.hpp"

#include <utility>

#include "tuner/campaign_file/checks.hpp"
#include "tuner/campaign_file/extends.hpp"
#include "tuner/campaign_file/schema_check.hpp"
#include "tuner/campaign_file/sections.hpp"
#include "tuner/campaign_file/space_section.hpp"
#include "tuner/schema/campaign_schema.hpp"

namespace nocturne::tuner {
namespace {

using Json = nlohmann::json;
using Result = std::expected<SpaceFile, std::vector<Problem>>;

Json make_schema() {
  Json schema = Json::parse(campaign_schema());
  schema["title"] = "Nocturne space file";
  schema["description"] = "What may vary, and which values are better. Comments (// and /* */) are allowed.";
  Json properties = Json::object();
  for (const char* key : {"$schema", "campaign", "description", "extends", "space", "strategy"})
    properties[key] = schema["properties"][key];
  properties["objective"] = Json::parse(R"({
    "description": "Which values are better.", "type": "object", "additionalProperties": false,
    "properties": {
      "direction": {"description": "minimise: the smaller is better.", "type": "string", "default": "minimise",
                    "enum": ["minimise", "maximise"], "examples": ["maximise"]},
      "scale": {"description": "logarithmic: values are positive, and their ratios count, as of times. linear: their differences count, and they may be zero or negative.",
                "type": "string", "default": "logarithmic", "enum": ["logarithmic", "linear"], "examples": ["linear"]}
    }, "examples": [{"direction": "maximise", "scale": "linear"}]})");
  schema["properties"] = std::move(properties);
  schema["required"] = Json::array();  // that the space is missing is said in words that name `extends`
  schema["definitions"]["parameter"]["required"] = {"name"};
  return schema;
}

const Json& schema_of_space_files() {
  static const Json schema = make_schema();
  return schema;
}

/// Stages say what preparing a value costs: here nobody prepares anything.
void complete_stages(Json& document) {
  const auto place = "/space/parameters"_json_pointer;
  if (!document.contains(place) || !document.at(place).is_array()) return;
  for (Json& parameter : document.at(place))
    if (parameter.is_object() && !parameter.contains("stage")) parameter["stage"] = "run";
}

search::ValueRule rule_in(const Json& objective) {
  const search::ValueRule usual;
  const auto word = [&](const char* key) { return objective.value(key, std::string()); };
  return {.direction = search::direction_from_text(word("direction")).value_or(usual.direction),
          .scale = search::value_scale_from_text(word("scale")).value_or(usual.scale)};
}

/// Readable as any campaign's: one epoch is one evaluation, which nothing here knows how to start.
Json stored_document(Json document, const std::string& name, const search::ValueRule& values,
                     const space::Facts& facts) {
  document["campaign"] = name;
  document["objective"] = {{"direction", to_text(values.direction)}, {"scale", to_text(values.scale)}, {"epochs", {1}}};
  document["workload"] = {{"network", name}, {"data", "told"}, {"optimizer", "none"}, {"training_examples", 1}};
  document["worker"] = {{"command", {"told"}}};
  document[kStoredMachine] = machine_json(facts, {});
  return document;
}

Result complete(Document document, const space::Facts& facts) {
  if (document.value.is_object()) complete_stages(document.value);
  Checks checks(document);
  check_against_schema(schema_of_space_files(), checks);
  if (!document.value.is_object()) return std::unexpected(checks.take());
  StrategyChoice strategy = read_strategy(checks);
  // Its names are the user's own.
  const WorkerChoice told{.command = {"told"}};
  std::optional<SpaceSection> section = read_space(checks, facts, told, {});
  if (!checks.empty() || !section) return std::unexpected(checks.take());

  const auto values = rule_in(document.value.value("objective", Json::object()));
  auto name = document.value.value("campaign", std::string("search"));
  Json identity = identity_of(section->space, facts);
  identity["objective"] = {{"direction", to_text(values.direction)}, {"scale", to_text(values.scale)}};
  Json stored = stored_document(std::move(document.value), name, values, facts);
  return SpaceFile{.name = std::move(name),
                   .space = std::move(section->space),
                   .values = values,
                   .strategy = std::move(strategy),
                   .document = std::move(stored),
                   .identity_json = identity.dump()};
}

}  // namespace

std::string_view space_file_schema() {
  static const std::string text = schema_of_space_files().dump(2) + "\n";
  return text;
}

Result load_space_file(const std::filesystem::path& path, const space::Facts& facts) {
  auto document = read_with_bases(path);
  if (!document) return std::unexpected(std::move(document.error()));
  return complete(*std::move(document), facts);
}

std::optional<search::ValueRule> stored_value_rule(const Json& document) {
  const auto place = "/objective/direction"_json_pointer;
  if (!document.is_object() || !document.contains(place)) return std::nullopt;
  return rule_in(document.at("objective"));
}

}  // namespace nocturne::tuner
