#include "tuner/campaign_file/schema_judge.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "tuner/campaign_file/document_positions.hpp"

namespace nocturne::tuner {
namespace {

// The library reports in English only; the beginnings of its sentences are its interface, and a test holds each.
constexpr std::array kSentences = {
    std::pair{std::string_view("Value type not permitted"), Rule::Type},
    std::pair{std::string_view("Failed to match against any enum values"), Rule::Enum},
    std::pair{std::string_view("Expected number"), Rule::Bound},
    std::pair{std::string_view("Array should contain no"), Rule::Items},
    std::pair{std::string_view("String should be no"), Rule::Length},
    std::pair{std::string_view("Failed to match regex"), Rule::Pattern},
    std::pair{std::string_view("Missing required property"), Rule::Required},
    std::pair{std::string_view("Object contains a property that could not be validated"), Rule::UnknownKey},
};

/// Said of a value because something inside it was wrong, which is reported by itself.
constexpr std::array<std::string_view, 2> kEchoes = {"Failed to validate against schema associated with property name",
                                                     "Failed to validate item #"};

/// Follows the library's path ("<root>", "[space]", "[parameters]", "[0]") in the document.
std::string pointer_of(const std::vector<std::string>& context, const nlohmann::json& document) {
  std::string pointer;
  const nlohmann::json* value = &document;
  for (std::size_t i = 1; i < context.size(); ++i) {
    const std::string token = context[i].substr(1, context[i].size() - 2);
    value = value->is_array() ? &value->at(std::stoul(token)) : &value->at(token);
    pointer = pointer_to(pointer, token);
  }
  return pointer;
}

std::optional<Verdict> verdict_of(const valijson::ValidationResults::Error& error, const nlohmann::json& document) {
  const std::string_view words = error.description;
  if (std::ranges::any_of(kEchoes, [&](std::string_view echo) { return words.starts_with(echo); })) return std::nullopt;
  Verdict verdict{
      .pointer = pointer_of(error.context, document), .rule = Rule::Other, .name = {}, .words = error.description};
  for (const auto& [sentence, rule] : kSentences)
    if (words.starts_with(sentence)) verdict.rule = rule;
  if (verdict.rule == Rule::Required) {
    const std::size_t open = words.find('\''), close = words.rfind('\'');
    verdict.name = words.substr(open + 1, close - open - 1);
  }
  return verdict;
}

}  // namespace

std::vector<Verdict> judge(const nlohmann::json& schema, const nlohmann::json& document) {
  valijson::Schema parsed;
  valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
  parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(schema), parsed);
  valijson::Validator validator;
  valijson::ValidationResults results;
  const bool valid = validator.validate(parsed, valijson::adapters::NlohmannJsonAdapter(document), &results);

  std::vector<Verdict> verdicts;
  for (const auto& error : results)
    if (auto verdict = verdict_of(error, document)) verdicts.push_back(std::move(*verdict));
  if (!valid && verdicts.empty())
    verdicts.push_back({.pointer = "", .rule = Rule::Other, .name = {}, .words = "is not valid"});
  std::ranges::stable_sort(verdicts, {}, [](const Verdict& verdict) { return verdict.rule != Rule::Type; });
  return verdicts;
}

}  // namespace nocturne::tuner
