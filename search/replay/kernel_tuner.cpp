#include "search/replay/kernel_tuner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "search/replay/foreign_rows.hpp"
#include "search/replay/hyperfine.hpp"
#include "search/replay/python_values.hpp"
#include "search/replay/text_file.hpp"

namespace nocturne::search::replay {
namespace {

// The rows of a cache file or of T4 results, for the readers of kernel_tuner.hpp.

/// Names of the parameters, and the rows with a value for each. All throw Wrong.
struct NamedRows {
  std::vector<std::string> names;
  std::vector<ForeignRow> rows;
  double seconds_per_unit = 1;
};

using nlohmann::json;
using space::Outcome;

// Kernel Tuner's `time`, in seconds.
constexpr double kMillisecond = 1e-3;

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
  if (failure && *failure != Outcome::Ok)
    row.outcome = *failure;
  else
    row.objective = positive(*found, where + "/" + excerpt(objective));
  row.times = times_in(entry, "times", where);
  row.cost_ms = sum_of(entry, {"compile_time", "verification_time", "benchmark_time"});
  return row;
}

const json& measurement(const json& result, const std::string& objective, const std::string& where) {
  const auto& list = member(result, "measurements", json::value_t::array, where);
  for (const auto& each : list)
    if (each.is_object() && text_or(each, "name", "") == objective && each.contains("value")) return each["value"];
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

/// What the first measurement that has a unit is in; 1 where it is no unit of time.
double seconds_per_unit(const json& results) {
  constexpr std::array<std::pair<std::string_view, double>, 6> kUnits = {{{"ms", 1e-3},
                                                                          {"milliseconds", 1e-3},
                                                                          {"us", 1e-6},
                                                                          {"microseconds", 1e-6},
                                                                          {"ns", 1e-9},
                                                                          {"nanoseconds", 1e-9}}};
  for (const auto& result : results) {
    const auto list = result.is_object() ? result.find("measurements") : result.end();
    if (list == result.end() || !list->is_array() || list->empty() || !list->front().is_object()) continue;
    const auto unit = text_or(list->front(), "unit", "");
    const auto* const found = std::ranges::find(kUnits, std::string_view(unit), &decltype(kUnits)::value_type::first);
    return found == kUnits.end() ? 1 : found->second;
  }
  return 1;
}

/// `names`: the parameters in their order, which JSON objects do not keep.
NamedRows rows_of_cache(const json& document, std::vector<std::string> names) {
  const auto objective = text_or(document, "objective", "time");
  // Minimised, a rate would make the slowest kernel the best, and nothing would look wrong.
  refuse_rate(objective, "/objective");
  NamedRows named{.names = std::move(names), .rows = {}};
  if (objective == "time") named.seconds_per_unit = kMillisecond;
  for (const auto& [key, entry] : member(document, "cache", json::value_t::object, "").items())
    named.rows.push_back(cache_row(entry, objective, named.names, "/cache/" + excerpt(key)));
  return named;
}

/// Without names: those of the first configuration.
NamedRows rows_of_results(const json& document, std::vector<std::string> names) {
  NamedRows named{.names = std::move(names), .rows = {}};
  const auto& results = member(document, "results", json::value_t::array, "");
  if (named.names.empty() && !results.empty())
    for (const auto& [name, value] : member(results[0], "configuration", json::value_t::object, "/results/0").items())
      named.names.push_back(name);
  if (!results.empty()) named.seconds_per_unit = seconds_per_unit(results);
  for (std::size_t i = 0; i < results.size(); ++i)
    named.rows.push_back(results_row(results[i], named.names, fmt::format("/results/{}", i)));
  return named;
}

namespace fs = std::filesystem;

/// What is cut off a cache that was never closed: its last comma, or a last entry that is torn.
std::optional<std::string> closed_cache(std::string text) {
  const auto cache = text.find("\"cache\"");
  if (cache == std::string::npos) return std::nullopt;
  const auto last = text.find_last_of('}');
  const auto begin = text.find('{', cache);
  if (begin == std::string::npos) return std::nullopt;
  text.resize(last != std::string::npos && last > begin ? last + 1 : begin + 1);
  return text + "}}";
}

std::vector<std::string> names_of_cache(const json& document) {
  std::vector<std::string> names;
  const auto keys = document.find("tune_params_keys");
  if (keys != document.end()) {
    if (!keys->is_array()) throw Wrong{fmt::format("/tune_params_keys: found a JSON {}", keys->type_name())};
    for (std::size_t i = 0; i < keys->size(); ++i) {
      if (!(*keys)[i].is_string())
        throw Wrong{fmt::format("/tune_params_keys/{}: found {}", i, excerpt((*keys)[i].dump()))};
      names.push_back((*keys)[i].get<std::string>());
    }
    return names;
  }
  for (const auto& [name, values] : member(document, "tune_params", json::value_t::object, "").items())
    names.push_back(name);
  return names;
}

/// The declared values; names without a declaration take those that occur.
std::vector<ForeignParameter> parameters_of_cache(const json& document, const NamedRows& named) {
  auto parameters = occurring_values(named.names, named.rows);
  const auto declared = document.find("tune_params");
  if (declared == document.end()) return parameters;
  if (!declared->is_object()) throw Wrong{fmt::format("/tune_params: found a JSON {}", declared->type_name())};
  for (auto& parameter : parameters) {
    const auto found = declared->find(parameter.name);
    if (found == declared->end()) continue;
    const auto where = "/tune_params/" + excerpt(parameter.name);
    if (!found->is_array() || found->empty())
      throw Wrong{fmt::format("{}: found {}, not a list of values", where, excerpt(found->dump()))};
    if (found->size() > kMaxValues)
      throw Wrong{fmt::format("{}: {} values, more than {}", where, found->size(), kMaxValues)};
    parameter.values.clear();
    for (std::size_t i = 0; i < found->size(); ++i)
      parameter.values.push_back(value_at((*found)[i], fmt::format("{}/{}", where, i)));
  }
  return parameters;
}

std::vector<ForeignParameter> parameters_of_problem(const json& space) {
  std::vector<ForeignParameter> parameters;
  const auto& list = member(space, "TuningParameters", json::value_t::array, "/ConfigurationSpace");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto where = fmt::format("/ConfigurationSpace/TuningParameters/{}", i);
    ForeignParameter parameter;
    parameter.name = member(list[i], "Name", json::value_t::string, where).get<std::string>();
    const auto values = list[i].find("Values");
    if (values != list[i].end() && values->is_array()) {  // not as the schema has it, and plain
      for (std::size_t v = 0; v < std::min(values->size(), kMaxValues + 1); ++v)
        parameter.values.push_back(value_at((*values)[v], fmt::format("{}/Values/{}", where, v)));
    } else {
      const auto text = member(list[i], "Values", json::value_t::string, where).get<std::string>();
      auto parsed = parse_python_values(text);
      if (!parsed) {
        const auto position = std::min(parsed.error().position, text.size());
        throw Wrong{fmt::format("{}/Values: character {}, at '{}': {}", where, position + 1,
                                excerpt(std::string_view(text).substr(position), 30), parsed.error().message)};
      }
      parameter.values = std::move(*parsed);
    }
    if (parameter.values.empty() || parameter.values.size() > kMaxValues)
      throw Wrong{fmt::format("{}/Values: 1 to {} values are expected", where, kMaxValues)};
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

std::vector<std::string> requirements_of(const json& space) {
  std::vector<std::string> requirements;
  const auto conditions = space.find("Conditions");
  if (conditions == space.end()) return requirements;
  if (!conditions->is_array())
    throw Wrong{fmt::format("/ConfigurationSpace/Conditions: found a JSON {}", conditions->type_name())};
  for (std::size_t i = 0; i < conditions->size(); ++i) {
    requirements.push_back(member((*conditions)[i], "Expression", json::value_t::string,
                                  fmt::format("/ConfigurationSpace/Conditions/{}", i))
                               .get<std::string>());
  }
  return requirements;
}

std::string problem_name(const json& problem, const fs::path& file) {
  const auto general = problem.find("General");
  if (general != problem.end() && general->is_object()) return text_or(*general, "BenchmarkName", name_from(file));
  return name_from(file);
}

}  // namespace

Format format_of(const json& document) {
  if (!document.is_object()) return Format::Unknown;
  if (document.contains("ConfigurationSpace")) return Format::Problem;
  if (document.contains("cache")) return Format::Cache;
  if (document.contains("results")) return is_hyperfine(document) ? Format::Hyperfine : Format::Results;
  return Format::Unknown;
}

std::expected<json, std::string> read_python_json(const fs::path& file) {
  auto text = read_text(file);
  if (!text) return std::unexpected(text.error());
  // Python writes NaN and Infinity, which JSON does not have.
  replace_python_numbers(*text);
  auto document = parse_json(*text, file);
  if (document) return document;
  // Only what ends too early may be an open cache; the first error is the one to report.
  // Kernel Tuner closes the brackets of a cache only at the end of a tuning: one that was interrupted is usable all the
  // same.
  if (const auto closed = closed_cache(std::move(*text))) {
    if (auto again = parse_json(*closed, file)) return again;
  }
  return document;
}

std::expected<RecordedSpace, std::string> load_cache(const json& document, const fs::path& file) {
  return reported(file, [&] {
    auto named = rows_of_cache(document, names_of_cache(document));
    ForeignSpace foreign{.name = name_from(file), .kind = "kernel-tuner-cache"};
    foreign.parameters = parameters_of_cache(document, named);
    foreign.seconds_per_unit = named.seconds_per_unit;
    foreign.rows = std::move(named.rows);
    return assemble(std::move(foreign));
  });
}

std::expected<RecordedSpace, std::string> load_results(const json& document, const fs::path& file) {
  return reported(file, [&] {
    auto named = rows_of_results(document, {});
    ForeignSpace foreign{.name = name_from(file), .kind = "t4-results"};
    foreign.parameters = occurring_values(named.names, named.rows);
    foreign.seconds_per_unit = named.seconds_per_unit;
    foreign.rows = std::move(named.rows);
    return assemble(std::move(foreign));
  });
}

std::expected<RecordedSpace, std::string> load_problem(const json& problem, const fs::path& problem_file,
                                                       const json& results, const fs::path& results_file) {
  ForeignSpace foreign;
  std::vector<std::string> names;
  try {
    const auto& space = member(problem, "ConfigurationSpace", json::value_t::object, "");
    foreign.name = problem_name(problem, problem_file);
    foreign.kind = "t1-problem";
    foreign.parameters = parameters_of_problem(space);
    foreign.requirements = requirements_of(space);
    foreign.has_rule = true;
    for (const auto& parameter : foreign.parameters) names.push_back(parameter.name);
  } catch (const Wrong& wrong) {
    return std::unexpected(fmt::format("{}: {}", problem_file.string(), wrong.sentence));
  }
  try {
    auto named = format_of(results) == Format::Cache ? rows_of_cache(results, names) : rows_of_results(results, names);
    foreign.seconds_per_unit = named.seconds_per_unit;
    foreign.rows = std::move(named.rows);
  } catch (const Wrong& wrong) {
    return std::unexpected(fmt::format("{}: {}", results_file.string(), wrong.sentence));
  }
  return reported(problem_file, [&] { return assemble(std::move(foreign)); });
}

}  // namespace nocturne::search::replay
