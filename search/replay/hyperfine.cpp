#include "search/replay/hyperfine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "search/replay/foreign_rows.hpp"
#include "space/parse_number.hpp"

namespace nocturne::search::replay {
namespace {

using nlohmann::json;

/// Values are texts there: what is a number was one.
space::Value value_of(const json& text, const std::string& where) {
  if (!text.is_string()) return value_at(text, where);
  const auto word = text.get<std::string>();
  if (auto whole = space::parse_number<std::int64_t>(word)) return *whole;
  if (auto number = space::parse_number<double>(word)) return *number;
  return word;
}

/// Parameters in the order of names; without any, the command itself.
json parameters_of(const json& result) {
  const auto found = result.find("parameters");
  if (found != result.end() && found->is_object() && !found->empty()) return *found;
  return {{"command", result.value("command", "")}};
}

ForeignRow row_of(const json& result, const json& named, const std::string& where) {
  ForeignRow row{.where = where};
  const json parameters = parameters_of(result);
  for (const auto& [name, ignored] : named.items()) {
    if (!parameters.contains(name)) throw Wrong{fmt::format("{}/parameters: '{}' is missing", where, name)};
    row.values.push_back(value_of(parameters.at(name), where + "/parameters/" + name));
  }
  const auto codes = result.find("exit_codes");
  const bool failed = codes != result.end() && codes->is_array() &&
                      std::ranges::any_of(*codes, [](const json& code) { return code.is_null() || code != 0; });
  if (failed) {
    row.outcome = space::Outcome::Failed;
    return row;
  }
  const auto mean = result.find("mean");
  if (mean == result.end() || !mean->is_number()) throw Wrong{fmt::format("{}: 'mean' is no number", where)};
  row.objective = mean->get<double>();
  for (const json& time : result.value("times", json::array()))
    if (time.is_number()) row.times.push_back(time.get<float>());
  return row;
}

}  // namespace

bool is_hyperfine(const json& document) {
  const auto results = document.find("results");
  return results != document.end() && results->is_array() && !results->empty() && results->front().is_object() &&
         results->front().contains("command") && !results->front().contains("configuration");
}

std::expected<RecordedSpace, std::string> load_hyperfine(const json& document, const std::filesystem::path& file) {
  return reported(file, [&] {
    ForeignSpace foreign{.name = name_from(file), .kind = "hyperfine"};
    const json& results = document.at("results");
    const json named = parameters_of(results.front());
    std::vector<std::string> names;
    for (const auto& [name, ignored] : named.items()) names.push_back(as_parameter_name(name));
    for (std::size_t i = 0; i < results.size(); ++i) {
      const auto where = fmt::format("/results/{}", i);
      if (!results[i].is_object()) throw Wrong{fmt::format("{}: found a JSON {}", where, results[i].type_name())};
      foreign.rows.push_back(row_of(results[i], named, where));
    }
    foreign.parameters = occurring_values(names, foreign.rows);
    return assemble(std::move(foreign));
  });
}

}  // namespace nocturne::search::replay
