#include "search/history/past_trials.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <variant>

namespace nocturne::search::history {
namespace {

std::optional<double> number_of(const space::Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

std::optional<space::Level> nearest_level(const space::Lattice::Axis& axis, const space::Value& value) {
  const auto exact = std::ranges::find(axis.values, value);
  if (exact != axis.values.end()) return static_cast<space::Level>(exact - axis.values.begin());
  const auto number = number_of(value);
  if (!number || axis.numbers.empty() || !axis.ordered) return std::nullopt;
  const auto nearest =
      std::ranges::min_element(axis.numbers, {}, [&](double each) { return std::abs(each - *number); });
  return static_cast<space::Level>(nearest - axis.numbers.begin());
}

void keep_first_of_each_point(std::vector<PastTrial>& trials) {
  std::unordered_set<std::uint64_t> seen;
  std::erase_if(trials, [&](const PastTrial& each) { return !seen.insert(space::hash_of(each.point)).second; });
}

}  // namespace

std::optional<std::vector<space::Level>> same_point(space::Lattice& lattice,
                                                    const space::Configuration& configuration) {
  auto point = lattice.point_of(configuration);
  if (!point || !lattice.valid(*point)) return std::nullopt;
  const auto active = std::ranges::count_if(*point, [](auto level) { return level != space::kNoLevel; });
  if (static_cast<std::size_t>(active) != configuration.values().size()) return std::nullopt;
  return point;
}

std::optional<std::vector<space::Level>> nearest_point(const space::Lattice& lattice,
                                                       const space::Configuration& configuration) {
  std::vector<space::Level> point(lattice.width());
  for (std::size_t i = 0; i < point.size(); ++i) {
    const auto& axis = lattice.axis(i);
    const auto* value = configuration.find(lattice.parameter(i).name);
    if (value == nullptr) {
      point[i] = axis.conditional ? space::kNoLevel : axis.default_level;
      continue;
    }
    const auto level = nearest_level(axis, *value);
    if (!level) return std::nullopt;
    point[i] = *level;
  }
  return point;
}

std::optional<double> log_value_of(const space::Trial& trial, const space::Objective& objective) {
  if (!trial.estimate) return std::nullopt;
  const double seconds = trial.parts && !objective.epochs.empty() ? space::total_time(*trial.parts, objective.primary)
                                                                  : trial.estimate->value;
  if (!std::isfinite(seconds) || !(seconds > 0)) return std::nullopt;
  return std::log(seconds);
}

std::vector<PastTrial> thinned(std::vector<PastTrial> trials, std::size_t most) {
  keep_first_of_each_point(trials);
  const auto failed = std::stable_partition(trials.begin(), trials.end(),
                                            [](const PastTrial& each) { return each.log_value.has_value(); });
  std::vector<PastTrial> failures(std::make_move_iterator(failed), std::make_move_iterator(trials.end()));
  trials.erase(failed, trials.end());
  if (trials.size() > most) {
    std::ranges::stable_sort(trials, {}, [](const PastTrial& each) { return *each.log_value; });
    const auto best = most / 2;
    const auto rest = trials.size() - best;
    const auto wanted = most - best;
    for (std::size_t i = 0; i < wanted; ++i) {
      const auto from = best + i * rest / wanted;
      if (from != best + i) trials[best + i] = std::move(trials[from]);
    }
    trials.resize(most);
  }
  failures.resize(std::min(failures.size(), most / 2));
  std::ranges::move(failures, std::back_inserter(trials));
  return trials;
}

std::vector<PastTrial> same_trials(space::Lattice& lattice, const Options& options, std::size_t most) {
  std::vector<PastTrial> trials;
  for (const auto& campaign : options.history) {
    if (!campaign.same_machine_and_workload) continue;
    for (const auto& each : campaign.trials) {
      if (each.outcome == space::Outcome::Killed) continue;  // says nothing about the configuration
      if (each.outcome == space::Outcome::OutOfMemory && !options.roles.batch.empty()) continue;
      const auto value = log_value_of(each, options.objective);
      if (!value && each.outcome == space::Outcome::Ok) continue;
      if (auto point = same_point(lattice, each.configuration))
        trials.push_back({.point = *std::move(point), .log_value = value, .parts = value ? each.parts : std::nullopt});
    }
  }
  return thinned(std::move(trials), most);
}

}  // namespace nocturne::search::history
