#include "search/replay/kernel_tuner_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "search/replay/text_file.hpp"

namespace nocturne::search::replay {
namespace {

using nlohmann::json;
using space::Outcome;

// What Kernel Tuner writes in place of an objective, and what T4 calls `invalidity`.
constexpr std::array<std::pair<std::string_view, Outcome>, 10> kFailures = {{
    {"InvalidConfig", Outcome::Unsupported},
    {"CompilationFailedConfig", Outcome::BuildFailed},
    {"RuntimeFailedConfig", Outcome::Crashed},
    {"ErrorConfig", Outcome::Failed},
    {"constraints", Outcome::Unsupported},
    {"compile", Outcome::BuildFailed},
    {"runtime", Outcome::Crashed},
    {"correctness", Outcome::Wrong},
    {"timeout", Outcome::Timeout},
    {"correct", Outcome::Ok},
}};

std::optional<Outcome> outcome_named(std::string_view text) {
  const auto found = std::ranges::find(kFailures, text, &std::pair<std::string_view, Outcome>::first);
  return found == kFailures.end() ? std::nullopt : std::optional(found->second);
}

/// Rates are better when larger; replay minimises.
void refuse_rate(const std::string& objective, const std::string& where) {
  std::string lower;
  for (const char c : objective) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (lower.contains("/s") || lower.contains("flops")) {
    throw Wrong{fmt::format("{}: the objective '{}' is a rate, better when larger; replay needs one to minimise", where,
                            excerpt(objective))};
  }
}

double positive(const json& value, const std::string& where) {
  const double number = value.is_number() ? value.get<double>() : 0;
  if (number > 0 && std::isfinite(number)) return number;
  throw Wrong{fmt::format("{}: the objective is {}, it must be a positive number", where, excerpt(value.dump()))};
}

std::vector<float> times_in(const json& object, const char* name, const std::string& where) {
  std::vector<float> times;
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return times;
  if (!found->is_array()) throw Wrong{fmt::format("{}/{}: found a JSON {}", where, name, found->type_name())};
  for (std::size_t i = 0; i < found->size(); ++i) {
    const auto& each = (*found)[i];
    if (!each.is_number()) throw Wrong{fmt::format("{}/{}/{}: found {}", where, name, i, excerpt(each.dump()))};
    times.push_back(each.get<float>());
  }
  return times;
}

double sum_of(const json& object, std::initializer_list<const char*> names) {
  double sum = 0;
  bool any = false;
  for (const auto* name : names) {
    const auto found = object.find(name);
    if (found == object.end() || !found->is_number()) continue;
    sum += found->get<double>();
    any = true;
  }
  return any ? sum : std::numeric_limits<double>::quiet_NaN();
}

std::vector<space::Value> values_in(const json& configuration, const std::vector<std::string>& names,
                                    const std::string& where) {
  std::vector<space::Value> values;
  for (const auto& name : names) {
    const auto found = configuration.find(name);
    if (found == configuration.end()) throw Wrong{fmt::format("{}: '{}' is missing", where, excerpt(name))};
    values.push_back(value_at(*found, where + "/" + excerpt(name)));
  }
  return values;
}

ForeignRow cache_row(const json& entry, const std::string& objective, const std::vector<std::string>& names,
                     const std::string& where) {
  if (!entry.is_object()) throw Wrong{fmt::format("{}: found a JSON {}, not an object", where, entry.type_name())};
  ForeignRow row;
  row.where = where;
  row.values = values_in(entry, names, where);
  const auto found = entry.find(objective);
  if (found == entry.end()) throw Wrong{fmt::format("{}: '{}' is missing", where, excerpt(objective))};
  const auto failure = found->is_string() ? outcome_named(found->get<std::string>()) : std::nullopt;
  if (failure && *failure != Outcome::Ok) {
    row.outcome = *failure;
  } else {
    row.objective = positive(*found, where + "/" + excerpt(objective));
  }
  row.times = times_in(entry, "times", where);
  row.cost_ms = sum_of(entry, {"compile_time", "verification_time", "benchmark_time"});
  return row;
}

const json& measurement(const json& result, const std::string& objective, const std::string& where) {
  const auto& list = member(result, "measurements", json::value_t::array, where);
  for (const auto& each : list) {
    if (each.is_object() && text_or(each, "name", "") == objective && each.contains("value")) return each["value"];
  }
  throw Wrong{fmt::format("{}/measurements: none is named '{}'", where, excerpt(objective))};
}

ForeignRow results_row(const json& result, const std::vector<std::string>& names, const std::string& where) {
  ForeignRow row;
  row.where = where;
  row.values =
      values_in(member(result, "configuration", json::value_t::object, where), names, where + "/configuration");
  const auto invalidity = member(result, "invalidity", json::value_t::string, where).get<std::string>();
  const auto outcome = outcome_named(invalidity);
  if (!outcome) throw Wrong{fmt::format("{}/invalidity: found '{}'", where, excerpt(invalidity))};
  row.outcome = *outcome;
  if (row.outcome == Outcome::Ok) {
    std::string objective = "time";
    if (const auto found = result.find("objectives"); found != result.end() && found->is_array() && !found->empty()) {
      if (!found->front().is_string()) throw Wrong{where + "/objectives/0: it is no name"};
      objective = found->front().get<std::string>();
    }
    refuse_rate(objective, where + "/objectives/0");
    row.objective = positive(measurement(result, objective, where), where + "/measurements");
  }
  if (const auto times = result.find("times"); times != result.end() && times->is_object()) {
    row.times = times_in(*times, "runtimes", where + "/times");
    row.cost_ms = sum_of(*times, {"compilation", "compilation_time", "validation", "benchmark"});
  }
  return row;
}

}  // namespace

NamedRows rows_of_cache(const json& document, std::vector<std::string> names) {
  const auto objective = text_or(document, "objective", "time");
  refuse_rate(objective, "/objective");
  NamedRows named{.names = std::move(names), .rows = {}};
  for (const auto& [key, entry] : member(document, "cache", json::value_t::object, "").items())
    named.rows.push_back(cache_row(entry, objective, named.names, "/cache/" + excerpt(key)));
  return named;
}

NamedRows rows_of_results(const json& document, std::vector<std::string> names) {
  NamedRows named{.names = std::move(names), .rows = {}};
  const auto& results = member(document, "results", json::value_t::array, "");
  if (named.names.empty() && !results.empty()) {
    for (const auto& [name, value] : member(results[0], "configuration", json::value_t::object, "/results/0").items())
      named.names.push_back(name);
  }
  for (std::size_t i = 0; i < results.size(); ++i)
    named.rows.push_back(results_row(results[i], named.names, fmt::format("/results/{}", i)));
  return named;
}

std::vector<ForeignParameter> occurring_values(const NamedRows& named) {
  std::vector<ForeignParameter> parameters;
  for (std::size_t i = 0; i < named.names.size(); ++i) {
    ForeignParameter parameter{.name = named.names[i], .values = {}};
    std::set<std::string> seen;  // by text: 1 and 1.0 come from one tool and are not mixed
    for (const auto& row : named.rows) {
      if (seen.insert(space::to_json(row.values[i]).dump()).second) parameter.values.push_back(row.values[i]);
    }
    if (parameter.values.size() > kMaxValues)
      throw Wrong{fmt::format("'{}' has {} values, more than {}", excerpt(parameter.name), seen.size(), kMaxValues)};
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

}  // namespace nocturne::search::replay
