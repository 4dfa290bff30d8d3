#include "tuner/cli/output/json.hpp"

#include <algorithm>
#include <ostream>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "tuner/campaign_file/schema_judge.hpp"

namespace nocturne::cli {
namespace {

using nlohmann::json;

constexpr std::string_view kDefinitions = "definitions";

std::optional<json> parsed_source(std::string_view name) {
  const auto sources = schema_sources();
  const auto found = std::ranges::find(sources, name, &SchemaSource::name);
  if (found == sources.end()) return std::nullopt;
  json source = json::parse(found->text);
  if (!source.contains("extends")) return source;
  auto base = parsed_source(source.at("extends").get<std::string>());
  base.value().merge_patch(source);
  base->erase("extends");
  return base;
}

/// Says in full what the sources leave out: all keys are there, and no others.
void complete(json& schema) {
  if (schema.is_array())
    for (json& each : schema) complete(each);
  if (!schema.is_object()) return;
  if (schema.contains("properties")) {
    const json optional = schema.value("optional", json::array());
    schema.erase("optional");
    json required = json::array();
    for (auto& [key, value] : schema.at("properties").items()) {
      complete(value);
      if (std::find(optional.begin(), optional.end(), key) == optional.end()) required.push_back(key);
    }
    schema.emplace("type", "object");
    schema.emplace("additionalProperties", false);
    schema.emplace("required", std::move(required));
  }
  for (const char* key : {"items", "additionalProperties"})
    if (schema.contains(key)) complete(schema.at(key));
}

/// Copies the definitions that `part` refers to, and those that they refer to.
void add_definitions(const json& part, const json& all, json& used) {
  if (part.is_object() && part.contains("$ref")) {
    constexpr std::string_view kPrefix = "#/definitions/";
    const std::string name = part.at("$ref").get<std::string>().substr(kPrefix.size());
    if (used.contains(name)) return;
    json definition = all.at(name);
    complete(definition);
    used[name] = definition;
    add_definitions(definition, all, used);
    return;
  }
  if (!part.is_structured()) return;
  for (const json& each : part) add_definitions(each, all, used);
}

}  // namespace

void print_json(const Context& context, std::string_view schema, nlohmann::json document) {
  context.verbatim()
      << named_document(schema, std::move(document)).dump(2, ' ', false, nlohmann::json::error_handler_t::replace)
      << '\n';
}

std::vector<DocumentName> document_names() {
  std::vector<DocumentName> names;
  for (const SchemaSource& source : schema_sources()) {
    if (source.name == kDefinitions) continue;
    names.push_back({.name = std::string(source.name), .printed_by = json::parse(source.text).value("title", "")});
  }
  std::ranges::sort(names, {}, &DocumentName::name);
  return names;
}

std::optional<json> document_schema(std::string_view name) {
  auto schema = name == kDefinitions ? std::nullopt : parsed_source(name);
  if (!schema) return std::nullopt;
  schema->at("properties")["schema"] = {{"const", name}};
  schema->at("properties")["version"] = {{"const", schema->at("version")},
                                         {"description", "Changes when the document does."}};
  schema->erase("version");
  complete(*schema);
  json used = json::object();
  add_definitions(*schema, parsed_source(kDefinitions).value(), used);
  if (!used.empty()) (*schema)["definitions"] = std::move(used);
  (*schema)["$schema"] = "http://json-schema.org/draft-07/schema#";
  return schema;
}

json named_document(std::string_view name, json document) {
  const auto source = parsed_source(name);
  if (!source) throw std::logic_error(fmt::format("the document '{}' has no schema", name));
  document["schema"] = name;
  document["version"] = source->at("version");
  return document;
}

std::vector<std::string> deviations(const json& document) {
  const bool names_one = document.is_object() && document.contains("schema") && document.at("schema").is_string();
  if (!names_one) return {"/schema: the document does not say which it is"};
  const auto name = document.at("schema").get<std::string>();
  const auto schema = document_schema(name);
  if (!schema) return {fmt::format("/schema: there is no document '{}'", name)};
  std::vector<std::string> found;
  for (const tuner::Verdict& verdict : tuner::judge(*schema, document))
    found.push_back(verdict.pointer + ": " + verdict.words);
  return found;
}

}  // namespace nocturne::cli
