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
  ranking.levels.push_back({.level = value});
  return ranking.levels.back();
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

std::optional<std::string> ranked_parameter(const nlohmann::json& document, std::string_view wanted) {
  for (const space::ParameterSpec& each : parameters_of(document)) {
    const bool found = wanted.empty() ? each.stage == space::Stage::Environment && listed_values(each.domain).size() > 1
                                      : each.name == wanted;
    if (found) return each.name;
  }
  return std::nullopt;
}

Ranking rank(const nlohmann::json& document, const std::string& parameter, std::span<const db::LevelSummary> measured,
             const std::optional<db::StoredTrial>& baseline, const std::vector<db::StoredComparison>& comparisons,
             double epochs) {
  Ranking ranking{.parameter = parameter};
  for (const space::ParameterSpec& each : parameters_of(document)) {
    if (each.name != parameter) continue;
    for (const space::Value& value : listed_values(each.domain)) level_in(ranking, value);
  }
  for (const db::LevelSummary& each : measured) {
    RankedLevel& level = level_in(ranking, each.value);
    level.trained = each.trained;
    level.failed = each.failed;
    level.reason = each.reason;
    level.best = each.fastest;
    if (level.best) level.seconds = space::total_time(*level.best->trial.parts, epochs);
  }
  std::ranges::stable_sort(ranking.levels, {}, [](const RankedLevel& each) {
    return std::pair(seconds_of(each), each.failed == 0);  // among those without a time the tried ones first
  });
  ranking.defaults = baseline ? DefaultSettings(document, {&*baseline, 1}) : DefaultSettings(document, {});
  describe(ranking, comparisons, epochs, objective_of(document).primary);
  return ranking;
}

std::optional<Ranking> stored_ranking(const db::Store& store, const db::CampaignSummary& campaign,
                                      std::string_view wanted, const std::vector<db::StoredComparison>& comparisons,
                                      double epochs) {
  const auto parameter = ranked_parameter(campaign.spec, wanted);
  if (!parameter) return std::nullopt;
  return rank(campaign.spec, *parameter, store.levels(campaign.id, *parameter, epochs),
              store.finished_trial(campaign.id, 0), comparisons, epochs);
}

}  // namespace nocturne::tuner
