#include "tuner/campaign/finals/contradicted_trial.hpp"

#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "measure/comparison/statistics.hpp"

namespace nocturne::tuner {
namespace {

/// One trial, and what its runs in the pairs are together.
struct Side {
  const space::Trial& trial;
  std::vector<measure::RunSummary> runs{};
  space::Estimate in_pairs{};

  Side(const space::Trial& of, std::span<const measure::PairParts> pairs, space::Parts measure::PairParts::* side,
       double epochs)
      : trial(of) {
    for (const measure::PairParts& pair : pairs) runs.push_back({.parts = pair.*side});
    in_pairs = measure::estimate_at(runs, epochs);
  }
  /// ln(the trial's time / that of its runs in the pairs).
  [[nodiscard]] double excess() const { return std::log(trial.estimate->value / in_pairs.value); }
};

}  // namespace

std::optional<ContradictedTrial> contradicted_trial(const space::Trial& baseline, const space::Trial& candidate,
                                                    std::span<const measure::PairParts> pairs, double epochs) {
  if (pairs.size() < 2 || !baseline.estimate || !candidate.estimate) return std::nullopt;
  const Side one(baseline, pairs, &measure::PairParts::baseline, epochs);
  const Side other(candidate, pairs, &measure::PairParts::candidate, epochs);
  if (!(std::abs(one.excess() - other.excess()) > kContradiction)) return std::nullopt;

  const bool baseline_moves = std::abs(one.excess()) > std::abs(other.excess());
  const Side& moved = baseline_moves ? one : other;
  const double factor = std::exp((baseline_moves ? other : one).excess());
  ContradictedTrial judged{.trial = moved.trial, .sentence = {}};
  judged.trial.parts = measure::mean_parts(moved.runs);
  judged.trial.estimate = moved.in_pairs;
  space::scale_times(factor, judged.trial);
  judged.sentence = fmt::format(
      "trial {} took {:.2f} times what it takes in {} pairs: it was disturbed, and is judged "
      "by them from now on",
      moved.trial.number, std::exp(moved.excess()) / factor, pairs.size());
  return judged;
}

}  // namespace nocturne::tuner
