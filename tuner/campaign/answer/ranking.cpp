#include "tuner/campaign/answer/ranking.hpp"

#include <algorithm>
#include <limits>

#include "space/objective.hpp"
#include "tuner/campaign/stored_document.hpp"

namespace nocturne::tuner {
namespace {

double seconds_of(const RankedLevel& level) {
  return level.best ? level.seconds : std::numeric_limits<double>::infinity();
}

RankedLevel& level_in(Ranking& ranking, const space::Value& value) {
  const auto found = std::ranges::find(ranking.levels, value, &RankedLevel::level);
  if (found != ranking.levels.end()) return *found;
  ranking.levels.push_back({.level = value, .best = {}});
  return ranking.levels.back();
}

void count(RankedLevel& level, const db::StoredTrial& stored, double epochs) {
  const space::Trial& trial = stored.trial;
  if (trial.outcome != space::Outcome::Ok || !trial.parts) {
    ++level.failed;
    if (level.reason.empty() && !level.best) level.reason = trial.reason;
    return;
  }
  ++level.trained;
  level.reason.clear();
  const double seconds = space::total_time(*trial.parts, epochs);
  if (level.best && level.seconds <= seconds) return;
  level.best = stored;
  level.seconds = seconds;
}

/// What is known of the levels' best trials beyond their times.
void describe(Ranking& ranking, const std::vector<db::StoredComparison>& comparisons, double epochs, double primary) {
  for (RankedLevel& level : ranking.levels) {
    if (!level.best) continue;
    const space::Trial& trial = level.best->trial;
    level.settings = ranking.defaults.differing(trial.configuration);
    level.settings.erase(ranking.parameter);
    if (trial.estimate && epochs == primary) level.standard_error = trial.estimate->standard_error;
    const space::Configuration& leader = ranking.levels.front().best->trial.configuration;
    if (trial.configuration != leader) level.gain = stored_gain(comparisons, leader, trial.configuration, epochs);
  }
}

}  // namespace

Ranking rank(std::string_view parameter, std::span<const space::Value> levels, std::span<const db::StoredTrial> trials,
             double epochs) {
  Ranking ranking{.parameter = std::string(parameter), .levels = {}};
  for (const space::Value& each : levels) level_in(ranking, each);
  for (const db::StoredTrial& each : trials) {
    const auto* value = each.trial.configuration.find(ranking.parameter);
    if (value != nullptr) count(level_in(ranking, *value), each, epochs);
  }
  std::ranges::stable_sort(ranking.levels, {}, [](const RankedLevel& each) {
    return std::pair(seconds_of(each), each.failed == 0);  // among those without a time the tried ones first
  });
  return ranking;
}

std::optional<Ranking> rank(const nlohmann::json& document, std::string_view parameter,
                            std::span<const db::StoredTrial> trials,
                            const std::vector<db::StoredComparison>& comparisons, double epochs) {
  const auto parameters = document.value("/space/parameters"_json_pointer, nlohmann::json::array());
  for (const nlohmann::json& each : parameters) {
    const auto values = each.value("values", nlohmann::json::array());
    const bool wanted = parameter.empty() ? each.value("stage", "") == "environment" && values.size() > 1
                                          : each.value("name", "") == parameter;
    if (!wanted) continue;
    std::vector<space::Value> levels;
    for (const nlohmann::json& value : values) levels.push_back(space::value_from_json(value));
    Ranking ranking = rank(each.value("name", ""), levels, trials, epochs);
    ranking.defaults = DefaultSettings(document, trials);
    describe(ranking, comparisons, epochs, objective_of(document).primary);
    return ranking;
  }
  return std::nullopt;
}

}  // namespace nocturne::tuner
