#include "tuner/campaign/finals/finalists.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

namespace nocturne::tuner {
namespace {

/// Variance of the log of a trial's estimate, between-process spread included.
double log_variance(const space::Estimate& estimate, double process_sd) {
  const double runs = std::max(1, estimate.runs);
  const double of_samples = estimate.value > 0 ? estimate.standard_error / estimate.value : 0;
  return of_samples * of_samples + process_sd * process_sd / runs;
}

double mean_of(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Standard error of a contender's mean, from the scatter of all contenders' pairs about their own means.
double pooled_error(std::span<const Contender> contenders) {
  double squares = 0;
  std::size_t degrees = 0, least = 0;
  for (const Contender& each : contenders) {
    if (each.ratios.empty()) continue;
    const double mean = mean_of(each.ratios);
    for (const double ratio : each.ratios) squares += (ratio - mean) * (ratio - mean);
    degrees += each.ratios.size() - 1;
    least = least == 0 ? each.ratios.size() : std::min(least, each.ratios.size());
  }
  if (degrees == 0) return kProcessSd;
  return std::sqrt(squares / static_cast<double>(degrees) / static_cast<double>(least));
}

}  // namespace

bool within_noise(const space::Estimate& a, const space::Estimate& b, double process_sd) {
  return std::abs(std::log(a.value / b.value)) <=
         2 * std::sqrt(log_variance(a, process_sd) + log_variance(b, process_sd));
}

std::vector<std::size_t> choose_finalists(std::span<const db::StoredTrial> trials, std::size_t most,
                                          double process_sd) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const space::Trial& trial = trials[i].trial;
    if (trial.outcome == space::Outcome::Ok && trial.estimate && trial.parts) order.push_back(i);
  }
  const auto value = [&](std::size_t i) { return trials[i].trial.estimate->value; };
  std::ranges::stable_sort(order, {}, value);
  std::vector<std::size_t> finalists;
  for (const std::size_t i : order) {
    if (finalists.size() == most) break;
    if (!finalists.empty()) {
      const space::Estimate& best = *trials[finalists.front()].trial.estimate;
      if (!within_noise(best, *trials[i].trial.estimate, process_sd)) break;
      const bool twin = std::ranges::any_of(
          finalists, [&](std::size_t j) { return trials[j].trial.configuration == trials[i].trial.configuration; });
      if (twin) continue;
    }
    finalists.push_back(i);
  }
  return finalists;
}

std::size_t choose_winner(std::span<const Contender> contenders, double margin_percent) {
  assert(!contenders.empty() && contenders.front().ratios.empty());
  const auto mean = [](const Contender& each) { return mean_of(each.ratios); };
  double top = 0;  // the champion against itself
  for (const Contender& each : contenders) top = std::max(top, mean(each));
  const double band = std::max(std::log1p(margin_percent / 100), pooled_error(contenders));
  std::size_t winner = contenders.size();
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    if (mean(contenders[i]) < top - band) continue;
    if (winner == contenders.size() || contenders[i].changes < contenders[winner].changes ||
        (contenders[i].changes == contenders[winner].changes && mean(contenders[i]) > mean(contenders[winner]))) {
      winner = i;
    }
  }
  return winner;
}

}  // namespace nocturne::tuner
