#include "tuner/cli/output/history_lines.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "search/history/prior.hpp"
#include "tuner/cli/output/format.hpp"

namespace nocturne::cli {
namespace {

/// Ranks from 0; equal values share the mean of theirs.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> result(values.size());
  for (std::size_t first = 0; first < order.size();) {
    auto last = first;
    while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) ++last;
    for (auto i = first; i <= last; ++i) result[order[i]] = 0.5 * static_cast<double>(first + last);
    first = last + 1;
  }
  return result;
}

/// Spearman's: the correlation of the ranks. 0 where all are equal.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto x = ranks(a), y = ranks(b);
  const double mean = 0.5 * static_cast<double>(x.size() - 1);
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

std::string line_of(tuner::Learned& learned, search::history::Ranking& ranking, double weight) {
  std::vector<double> here, there;
  for (const space::Trial& trial : learned.trials) {
    if (!trial.estimate || !(trial.estimate->value > 0)) continue;
    if (const auto point = learned.lattice().point_of(trial.configuration)) {
      here.push_back(trial.estimate->value);
      there.push_back(ranking.mean(*point));
    }
  }
  return fmt::format(
      "the order of '{}' ({} trials) has {:.0f} % of the model's weight; rank correlation with {} trials of this "
      "campaign {:.2f}",
      ranking.name(), ranking.trials(), 100 * weight, here.size(), rank_correlation(here, there));
}

}  // namespace

std::vector<std::string> history_lines(tuner::Learned& learned) {
  std::vector<std::string> lines;
  if (learned.history.empty()) return lines;
  lines.push_back(learned.history);
  const auto& prior = learned.search->models().prior();
  if (prior.holds()) {
    const double slower = 100 * std::expm1(prior.offset().mean);
    lines.push_back(fmt::format(
        "earlier trials here are believed: {} of {} new measurements lay within the 90 % intervals predicted with "
        "them; "
        "the machine is {:.1f} % {} than it was",
        prior.agreement().inside(), prior.agreement().measured(), std::abs(slower), slower < 0 ? "faster" : "slower"));
  } else if (!prior.given_up().empty()) {
    lines.push_back(prior.given_up());
  }
  if (!prior.ranks_given_up().empty()) lines.push_back(prior.ranks_given_up());
  if (!prior.ranks()) return lines;
  const auto& weights = learned.search->models().times().scales().weights;
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  auto weight = weights.begin() + static_cast<std::ptrdiff_t>(learned.lattice().width());
  for (const auto& ranking : prior.rankings()) lines.push_back(line_of(learned, *ranking, *weight++ / all));
  return lines;
}

std::string history_text(const tuner::Learned& learned, space::Point point) {
  const auto& prior = learned.search->models().prior();
  const auto known =
      std::ranges::find_if(prior.past(), [&](const auto& each) { return std::ranges::equal(each.point, point); });
  if (known == prior.past().end()) return {};
  auto text = known->log_value ? seconds_text(std::exp(*known->log_value)) + " in an earlier campaign"
                               : std::string("failed in an earlier campaign");
  if (!prior.given_up().empty()) text += "; " + prior.given_up();
  return text;
}

}  // namespace nocturne::cli
