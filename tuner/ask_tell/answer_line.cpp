#include "tuner/ask_tell/answer_line.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "space/nearest.hpp"

namespace nocturne::tuner {
namespace {

using nlohmann::json;
using space::Outcome;
template <typename T>
using Read = std::expected<T, std::string>;

const std::vector<std::string> kKeys = {"number", "configuration", "value", "values", "failed", "outcome"};
constexpr std::array kFailures = {Outcome::Failed,  Outcome::Unsupported, Outcome::BuildFailed, Outcome::Crashed,
                                  Outcome::Timeout, Outcome::OutOfMemory, Outcome::Diverged,    Outcome::Wrong};

std::optional<std::string> wrong_keys(const json& document) {
  if (!document.is_object()) return fmt::format("an answer is a JSON object, not {}", document.type_name());
  for (const auto& [key, value] : document.items()) {
    if (std::ranges::find(kKeys, key) != kKeys.end()) continue;
    return fmt::format("unknown key '{}'{}; there are: {}", key, space::did_you_mean(key, kKeys),
                       fmt::join(kKeys, ", "));
  }
  if (document.contains("number") == document.contains("configuration"))
    return "one of 'number' and 'configuration' says what was measured";
  const auto results = document.count("value") + document.count("values") + document.count("failed");
  if (results != 1) return "one of 'value', 'values' and 'failed' says what came of it";
  if (document.contains("outcome") && !document.contains("failed")) return "'outcome' goes with 'failed'";
  return std::nullopt;
}

Read<std::vector<double>> values_of(const json& document) {
  const json list = document.contains("values") ? document.at("values") : json::array({document.at("value")});
  if (!list.is_array() || list.empty()) return std::unexpected("'values' is a list of numbers, one at least");
  std::vector<double> values;
  for (const json& each : list) {
    if (!each.is_number()) return std::unexpected(fmt::format("'value' is a number, not {}", each.dump()));
    values.push_back(each.get<double>());
  }
  return values;
}

Read<Outcome> failure_of(const json& document) {
  if (!document.contains("outcome")) return Outcome::Failed;
  const auto& word = document.at("outcome");
  const auto outcome = word.is_string() ? space::outcome_from_text(word.get<std::string>()) : std::nullopt;
  if (outcome && std::ranges::find(kFailures, *outcome) != kFailures.end()) return *outcome;
  std::vector<std::string> words;
  for (const Outcome each : kFailures) words.emplace_back(to_text(each));
  return std::unexpected(fmt::format("'outcome' is one of {}, not {}", fmt::join(words, ", "), word.dump()));
}

}  // namespace

Read<AnswerLine> answer_line_from_json(const json& document) {
  if (auto wrong = wrong_keys(document)) return std::unexpected(*std::move(wrong));
  AnswerLine answer;
  if (document.contains("number")) {
    const auto& number = document.at("number");
    if (!number.is_number_integer() || number < 0)
      return std::unexpected(fmt::format("'number' is that of a trial that was asked, not {}", number.dump()));
    answer.number = number.get<std::int64_t>();
  } else {
    auto configuration = space::Configuration::from_json(document.at("configuration"));
    if (!configuration) return std::unexpected("'configuration': " + configuration.error());
    answer.configuration = *std::move(configuration);
  }
  if (!document.contains("failed")) {
    auto values = values_of(document);
    if (!values) return std::unexpected(std::move(values.error()));
    answer.values = *std::move(values);
    return answer;
  }
  const auto outcome = failure_of(document);
  if (!outcome) return std::unexpected(outcome.error());
  answer.outcome = *outcome;
  if (!document.at("failed").is_string()) return std::unexpected("'failed' is the reason, a text");
  answer.reason = document.at("failed").get<std::string>();
  if (answer.reason.empty()) answer.reason = "no reason was told";
  return answer;
}

Read<AnswerLine> answer_from_line(std::string_view line) {
  const auto document = json::parse(line, nullptr, false);
  if (document.is_discarded()) return std::unexpected(fmt::format("this is not JSON: {}", line));
  return answer_line_from_json(document);
}

Read<space::Configuration> in_space(const space::Space& space, const space::Configuration& configuration) {
  space::Configuration result = configuration;
  for (const auto& [name, value] : configuration.values()) {
    const space::Parameter* parameter = space.find(name);
    if (parameter == nullptr || !parameter->is_real()) continue;
    const auto number = space::to_json(value);
    const bool is_inside = number.is_number() && number >= parameter->real_lower && number <= parameter->real_upper;
    if (is_inside) result.set(name, parameter->round(number.get<double>()));
  }
  const auto wrong = space.check(result);
  if (wrong.empty()) return result;
  return std::unexpected(fmt::format("the configuration is not of this space: {}", fmt::join(wrong, "; ")));
}

}  // namespace nocturne::tuner
