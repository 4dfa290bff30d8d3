// Prior: where a search begins that knows something already.

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "search/history/prior.hpp"

namespace nocturne::search::history {
namespace {

constexpr int kRounds = 4;            // of looking around the best
constexpr std::size_t kClimbers = 3;  // points looked around, a round
constexpr std::size_t kApart = 2;     // parameters in which suggestions differ at least: neighbours say the same twice

std::size_t differences(space::Point a, space::Point b) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += a[i] != b[i];
  return count;
}

}  // namespace

std::optional<Suggestion> Prior::suggest(std::size_t number, const space::PointList& pool, const PointSet& taken) {
  if (number % 2 == 1) return std::nullopt;  // every other one is spread: what the past says is to be tested, too
  if (holds_) {
    for (std::size_t i = 0; i < promising_.size(); ++i) {
      if (taken.contains(space::hash_of(promising_[i]))) continue;
      return Suggestion{
          .point = {promising_[i].begin(), promising_[i].end()},
          .reason = i == 0 ? "the best of earlier campaigns here" : "among the best of earlier campaigns here"};
    }
  }
  if (!ranks() || (number > 0 && !suggestions_lead())) return std::nullopt;
  return suggest_ranked(*rankings_[number / 2 % rankings_.size()], pool, taken);
}

/// Whether the best of what other campaigns suggested is the best so far: one that misleads is not followed further.
bool Prior::suggestions_lead() const {
  double suggested = std::numeric_limits<double>::infinity();
  double best = suggested;
  bool measured = false;
  for (const auto& [hash, log_value] : now_) {
    const double value = std::isnan(log_value) ? std::numeric_limits<double>::infinity() : log_value;
    best = std::min(best, value);
    if (std::ranges::none_of(suggested_, [&](const auto& each) { return space::hash_of(each) == hash; })) continue;
    measured = true;
    suggested = std::min(suggested, value);
  }
  return !measured || (std::isfinite(suggested) && suggested <= best);
}

std::optional<Suggestion> Prior::suggest_ranked(Ranking& ranking, const space::PointList& pool, const PointSet& taken) {
  Candidates candidates(lattice_, taken);
  candidates.add(pool);
  std::vector<double> means;
  std::vector<bool> climbed;
  const auto rate = [&] {
    while (means.size() < candidates.points().size()) means.push_back(ranking.mean(candidates.points()[means.size()]));
    climbed.resize(means.size());
  };
  const auto by_rank = [&](std::size_t i) { return std::pair(means[i], i); };
  rate();
  std::vector<std::size_t> order;
  for (int round = 0; round < kRounds; ++round) {
    const auto before = means.size();
    order.resize(before);
    for (std::size_t i = 0; i < before; ++i) order[i] = i;
    const auto top = static_cast<std::ptrdiff_t>(std::min(kClimbers, before));
    std::ranges::partial_sort(order, order.begin() + top, {}, by_rank);
    for (std::ptrdiff_t i = 0; i < top; ++i) {
      const auto climber = order[static_cast<std::size_t>(i)];
      if (climbed[climber]) continue;
      climbed[climber] = true;
      candidates.add_neighbours(candidates.points()[climber]);
    }
    if (candidates.points().size() == before) break;
    rate();
  }
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < means.size(); ++i) {
    const auto is_near = [&](const auto& each) { return differences(each, candidates.points()[i]) < kApart; };
    if (chosen && means[i] >= means[*chosen]) continue;
    if (std::ranges::none_of(suggested_, is_near)) chosen = i;
  }
  if (!chosen) return std::nullopt;
  const auto point = candidates.points()[*chosen];
  suggested_.emplace_back(point.begin(), point.end());
  return Suggestion{.point = suggested_.back(), .reason = fmt::format("among the best as {} ranks", ranking.name())};
}

}  // namespace nocturne::search::history
