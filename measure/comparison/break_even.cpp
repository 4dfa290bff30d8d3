#include "measure/comparison/break_even.hpp"

#include <cassert>
#include <cmath>
#include <limits>
#include <vector>

namespace nocturne::measure {
namespace {

/// Places between the fewest and the most epochs that are looked at, equal in log: 1.8 % apart.
constexpr int kPlaces = 900;

Comparison compare_at(std::span<const PairParts> pairs, double epochs, double confidence) {
  std::vector<double> ratios;
  for (const PairParts& pair : pairs) ratios.push_back(log_ratio(pair, epochs));
  return compare(ratios, {.margin_percent = 0, .confidence = confidence});
}

Lead lead_of(const Comparison& comparison) {
  if (comparison.low_percent > 0) return Lead::Candidate;
  if (comparison.high_percent < 0) return Lead::Baseline;
  return Lead::Open;
}

double epochs_at(int place) {
  return kFewestEpochs * std::pow(kMostEpochs / kFewestEpochs, static_cast<double>(place) / kPlaces);
}

}  // namespace

BreakEven break_even(std::span<const PairParts> pairs, double confidence) {
  assert(pairs.size() >= 2);
  BreakEven result;
  const Comparison first = compare_at(pairs, kFewestEpochs, confidence);
  const Comparison last = compare_at(pairs, kMostEpochs, confidence);
  result.at_first = lead_of(first);
  result.at_last = lead_of(last);
  result.high = result.at_last == Lead::Open ? std::numeric_limits<double>::infinity() : 0;
  bool first_is_sure = result.at_first != Lead::Open;
  double before = first.log_ratio;
  double before_epochs = kFewestEpochs;
  for (int place = 1; place <= kPlaces; ++place) {
    const double epochs = epochs_at(place);
    const Comparison here = compare_at(pairs, epochs, confidence);
    if (!result.epochs && before * here.log_ratio <= 0 && before != here.log_ratio) {
      const double share = before / (before - here.log_ratio);
      result.epochs = before_epochs + share * (epochs - before_epochs);
    }
    first_is_sure = first_is_sure && lead_of(here) == result.at_first;
    if (first_is_sure) result.low = epochs;
    if (result.at_last != Lead::Open && lead_of(here) != result.at_last) result.high = epochs;
    before = here.log_ratio;
    before_epochs = epochs;
  }
  return result;
}

}  // namespace nocturne::measure
