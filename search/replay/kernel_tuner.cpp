#include "search/replay/kernel_tuner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "search/replay/kernel_tuner_rows.hpp"
#include "search/replay/python_values.hpp"
#include "search/replay/text_file.hpp"

namespace nocturne::search::replay {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// "convolution.json.gz" → "convolution".
std::string name_from(const fs::path& file) {
  auto name = file.filename().string();
  return name.substr(0, std::max<std::size_t>(1, name.find('.')));
}

/// Turns the defects of a file into sentences that name it.
template <class Load>
std::expected<RecordedSpace, std::string> reported(const fs::path& file, Load load) {
  std::expected<RecordedSpace, std::string> recorded = std::unexpected(std::string());
  try {
    recorded = load();
  } catch (const Wrong& wrong) {
    recorded = std::unexpected(wrong.sentence);
  }
  if (!recorded) return std::unexpected(fmt::format("{}: {}", file.string(), recorded.error()));
  return recorded;
}

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
  auto parameters = occurring_values(named);
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
  if (document.contains("results")) return Format::Results;
  return Format::Unknown;
}

std::expected<json, std::string> read_python_json(const fs::path& file) {
  auto text = read_text(file);
  if (!text) return std::unexpected(text.error());
  replace_python_numbers(*text);
  auto document = parse_json(*text, file);
  if (document) return document;
  // Only what ends too early may be an open cache; the first error is the one to report.
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
    foreign.rows = std::move(named.rows);
    return assemble(std::move(foreign));
  });
}

std::expected<RecordedSpace, std::string> load_results(const json& document, const fs::path& file) {
  return reported(file, [&] {
    auto named = rows_of_results(document, {});
    ForeignSpace foreign{.name = name_from(file), .kind = "t4-results"};
    foreign.parameters = occurring_values(named);
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
    foreign.rows = std::move(named.rows);
  } catch (const Wrong& wrong) {
    return std::unexpected(fmt::format("{}: {}", results_file.string(), wrong.sentence));
  }
  return reported(problem_file, [&] { return assemble(std::move(foreign)); });
}

}  // namespace nocturne::search::replay
