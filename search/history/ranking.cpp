#include "search/history/ranking.hpp"

#include "search/history/past_trials.hpp"

namespace nocturne::search::history {
namespace {

constexpr double kKnee = 0.25;               // as the search: the order of the fast ones is what is wanted
constexpr std::size_t kRemembered = 20'000;  // means, then they are forgotten

}  // namespace

Ranking::Ranking(space::Lattice& lattice, std::string name)
    : name_(std::move(name)), model_(lattice, {.knee = kKnee, .trials = kMost}) {}

std::unique_ptr<Ranking> Ranking::of(space::Lattice& lattice, const History& campaign,
                                     const space::Objective& objective) {
  std::vector<PastTrial> trials;
  for (const auto& each : campaign.trials) {
    const auto value = log_value_of(each, objective);
    if (!value) continue;
    if (auto point = nearest_point(lattice, each.configuration))
      trials.push_back({.point = *std::move(point), .log_value = value});
  }
  trials = thinned(std::move(trials), kMost);
  if (trials.size() < kFewest) return nullptr;
  std::unique_ptr<Ranking> ranking(new Ranking(lattice, campaign.name));
  for (const auto& each : trials) ranking->model_.tell(each.point, *each.log_value);
  ranking->model_.fit();
  return ranking;
}

double Ranking::mean(space::Point point) {
  if (known_.size() >= kRemembered) known_.clear();
  const auto [known, is_new] = known_.try_emplace(space::hash_of(point), 0);
  if (is_new) known->second = model_.mean(point);
  return known->second;
}

}  // namespace nocturne::search::history
