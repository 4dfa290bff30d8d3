#include "tuner/registry/registry_file.hpp"

#include <fmt/format.h>

#include "tuner/campaign_file/schema_check.hpp"
#include "tuner/schema/registry_schema.hpp"

namespace nocturne::tuner {
namespace {

using Json = nlohmann::json;

/// The definition of one kind as a schema of its own.
Json schema_of(const std::string& kind) {
  const Json whole = Json::parse(registry_schema());
  Json schema = whole.at("definitions").at(kind);
  schema["definitions"] = whole.at("definitions");
  return schema;
}

}  // namespace

std::vector<Problem> problems_by_schema(const Document& document, const std::string& kind) {
  Checks checks(document);
  check_against_schema(schema_of(kind), checks);
  return checks.take();
}

std::expected<Document, std::vector<Problem>> read_registry_file(std::string_view text, const std::string& file,
                                                                 const std::string& kind, const std::string& stem) {
  auto document = read_document(text, file);
  if (!document) return document;
  std::vector<Problem> problems = problems_by_schema(*document, kind);
  if (problems.empty() && !stem.empty() && document->value.at(kind) != stem)
    problems.push_back(
        problem_at(*document, "/" + kind, At::Value,
                   fmt::format("found {}, but the file is called {}.json", shown(document->value[kind]), stem)));
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return document;
}

}  // namespace nocturne::tuner
