#include "tuner/exchange/optuna_storage.hpp"

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "search/replay/foreign_rows.hpp"
#include "space/file_contents.hpp"

namespace nocturne::tuner {
namespace {

namespace recorded = search::replay;
using nlohmann::json;
using recorded::Wrong;

struct Study {
  std::int64_t id = 0;
  std::string name;
};

Study find_study(const SQLite::Database& database, const std::string& name) {
  std::vector<Study> all;
  SQLite::Statement rows(database, "SELECT study_id, study_name FROM studies ORDER BY study_id");
  while (rows.executeStep()) all.push_back({rows.getColumn(0).getInt64(), rows.getColumn(1).getString()});
  std::vector<std::string> names;
  for (const Study& each : all) {
    if (each.name == name || (name.empty() && all.size() == 1)) return each;
    names.push_back("'" + each.name + "'");
  }
  if (all.empty()) throw Wrong{"there is no study in it"};
  throw Wrong{name.empty() ? fmt::format("it has several studies: {}; name one of them", fmt::join(names, ", "))
                           : fmt::format("there is no study '{}' in it; there is {}", name, fmt::join(names, ", "))};
}

void check_direction(const SQLite::Database& database, const Study& study) {
  SQLite::Statement rows(database, "SELECT direction FROM study_directions WHERE study_id = ?1");
  rows.bind(1, study.id);
  std::vector<std::string> directions;
  while (rows.executeStep()) directions.push_back(rows.getColumn(0).getString());
  if (directions.size() != 1)
    throw Wrong{
        fmt::format("the study '{}' has {} objectives, and one is minimised here", study.name, directions.size())};
  if (directions.front() == "MINIMIZE") return;
  throw Wrong{fmt::format("the study '{}' maximises its values, and smaller ones are better here", study.name)};
}

/// Optuna stores a number; what it stands for, its distribution says.
space::Value value_of(double stored, const std::string& distribution, const std::string& where) {
  const json described = json::parse(distribution, nullptr, false);
  const auto name = described.is_object() ? described.value("name", "") : "";
  if (name.starts_with("Int")) return static_cast<std::int64_t>(std::llround(stored));
  if (name != "CategoricalDistribution") return stored;
  const auto choices = described.value("/attributes/choices"_json_pointer, json::array());
  if (!(stored >= 0) || stored >= static_cast<double>(choices.size()))
    throw Wrong{fmt::format("{}: choice {} of {}", where, stored, choices.size())};
  const json& choice = choices.at(static_cast<std::size_t>(stored));
  return choice.is_primitive() && !choice.is_null() ? recorded::value_at(choice, where) : space::Value(choice.dump());
}

using Parameters = std::map<std::string, space::Value>;

std::map<std::int64_t, Parameters> read_parameters(const SQLite::Database& database, const Study& study) {
  std::map<std::int64_t, Parameters> all;
  SQLite::Statement rows(database,
                         "SELECT p.trial_id, p.param_name, p.param_value, p.distribution_json FROM trial_params p"
                         " JOIN trials t ON t.trial_id = p.trial_id WHERE t.study_id = ?1");
  rows.bind(1, study.id);
  while (rows.executeStep()) {
    const auto trial = rows.getColumn(0).getInt64();
    const auto name = rows.getColumn(1).getString();
    const auto where = fmt::format("trial {}, parameter '{}'", trial, name);
    all[trial][recorded::as_parameter_name(name)] =
        value_of(rows.getColumn(2).getDouble(), rows.getColumn(3).getString(), where);
  }
  return all;
}

recorded::ForeignSpace read_study(const SQLite::Database& database, const Study& study) {
  recorded::ForeignSpace foreign{.name = study.name, .kind = "optuna-study"};
  const auto parameters = read_parameters(database, study);
  std::vector<std::string> names;
  SQLite::Statement rows(database,
                         "SELECT t.trial_id, t.number, t.state, v.value FROM trials t LEFT JOIN trial_values v"
                         " ON v.trial_id = t.trial_id WHERE t.study_id = ?1 AND t.state IN ('COMPLETE', 'FAIL')"
                         " ORDER BY t.number");
  rows.bind(1, study.id);
  while (rows.executeStep()) {
    const auto found = parameters.find(rows.getColumn(0).getInt64());
    if (found == parameters.end()) continue;
    if (names.empty())
      for (const auto& [name, value] : found->second) names.push_back(name);
    recorded::ForeignRow row{.where = fmt::format("trial {}", rows.getColumn(1).getInt64())};
    for (const std::string& name : names)
      if (const auto value = found->second.find(name); value != found->second.end())
        row.values.push_back(value->second);
    if (row.values.size() != names.size()) continue;
    const bool ok = rows.getColumn(2).getString() == "COMPLETE" && !rows.isColumnNull(3);
    row.outcome = ok ? space::Outcome::Ok : space::Outcome::Failed;
    if (ok) row.objective = rows.getColumn(3).getDouble();
    foreign.rows.push_back(std::move(row));
  }
  foreign.parameters = recorded::occurring_values(names, foreign.rows);
  return foreign;
}

}  // namespace

bool is_database(const std::filesystem::path& file) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  return space::read_file(file, kMagic.size()) == kMagic;
}

bool holds_studies(const std::filesystem::path& file) {
  if (!is_database(file)) return false;
  try {
    const SQLite::Database database(file.string(), SQLite::OPEN_READONLY);
    return database.tableExists("studies") && database.tableExists("trial_params");
  } catch (const SQLite::Exception&) {
    return false;  // whoever reads it says what is wrong with it
  }
}

std::expected<recorded::RecordedSpace, std::string> recorded_study(const std::filesystem::path& file,
                                                                   const std::string& name) {
  return recorded::reported(file, [&]() -> std::expected<recorded::RecordedSpace, std::string> {
    try {
      const SQLite::Database database(file.string(), SQLite::OPEN_READONLY);
      const Study study = find_study(database, name);
      check_direction(database, study);
      auto recorded = recorded::assemble(read_study(database, study));
      if (recorded) recorded->set_source(file);
      return recorded;
    } catch (const SQLite::Exception& error) {
      return std::unexpected(fmt::format("this storage of Optuna cannot be read: {}", error.what()));
    }
  });
}

}  // namespace nocturne::tuner
