#include "tuner/request/scaling_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "search/model/student.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/request/choose.hpp"

namespace nocturne::tuner {
namespace {

constexpr const char* kRanks = "mpi_ranks";

std::optional<std::int64_t> ranks_of(const space::Configuration& configuration) {
  const auto ranks = configuration.integer_of(kRanks);
  return ranks.value_or(0) > 0 ? ranks : std::nullopt;
}

space::Configuration without_ranks(space::Configuration configuration) {
  configuration.erase(kRanks);
  return configuration;
}

}  // namespace

std::optional<FittedScaling> fit_scaling(const std::vector<std::pair<std::int64_t, double>>& times) {
  std::set<std::int64_t> numbers;
  double mean_x = 0, mean_t = 0;
  const auto count = static_cast<double>(times.size());
  for (const auto& [ranks, seconds] : times) {
    numbers.insert(ranks);
    mean_x += 1 / static_cast<double>(ranks) / count;
    mean_t += seconds / count;
  }
  if (numbers.size() < 3) return std::nullopt;
  double xx = 0, xt = 0;
  for (const auto& [ranks, seconds] : times) {
    const double x = 1 / static_cast<double>(ranks) - mean_x;
    xx += x * x;
    xt += x * (seconds - mean_t);
  }
  const double slope = xt / xx, serial = mean_t - slope * mean_x, whole = serial + slope;
  if (slope <= 0 || whole <= 0) return std::nullopt;
  double squares = 0;
  for (const auto& [ranks, seconds] : times) {
    const double off = seconds - serial - slope / static_cast<double>(ranks);
    squares += off * off;
  }
  // F = b / (a + b): dF/da = −b / (a + b)², dF/db = a / (a + b)².
  const double variance = squares / (count - 2);
  const double by_a = -slope / (whole * whole), by_b = serial / (whole * whole);
  const double var_a = variance * (1 / count + mean_x * mean_x / xx), var_b = variance / xx;
  const double cov = -variance * mean_x / xx;
  const double error = std::sqrt(std::max(0.0, by_a * by_a * var_a + by_b * by_b * var_b + 2 * by_a * by_b * cov));
  const double half = search::model::student_quantile(count - 2, 0.975) * error;
  const double fraction = slope / whole;
  return FittedScaling{.parallel_fraction = std::clamp(fraction, 0.0, 1.0),
                       .low = std::clamp(fraction - half, 0.0, 1.0),
                       .high = std::clamp(fraction + half, 0.0, 1.0),
                       .points = numbers.size()};
}

std::optional<FittedScaling> scaling_of_runs(const db::Store& store, const Demands& demands) {
  if (demands.workload.empty() && demands.words.empty()) return std::nullopt;
  for (const db::CampaignSummary& campaign : store.list_campaigns()) {
    if (!trains_what_is_named(campaign, demands)) continue;
    const Answer answer = answer_of(store, campaign);
    if (!answer.best || !ranks_of(answer.best->trial.configuration)) continue;
    const space::Configuration rest = without_ranks(answer.best->trial.configuration);
    std::vector<std::pair<std::int64_t, double>> times;
    for (const db::StoredTrial& trial : store.list_trials({.campaign = campaign.id, .outcome = space::Outcome::Ok})) {
      const auto ranks = ranks_of(trial.trial.configuration);
      if (ranks && trial.trial.estimate && without_ranks(trial.trial.configuration) == rest)
        times.emplace_back(*ranks, trial.trial.estimate->value);
    }
    if (auto fitted = fit_scaling(times)) {
      fitted->campaign = campaign.name;
      return fitted;
    }
  }
  return std::nullopt;
}

}  // namespace nocturne::tuner
