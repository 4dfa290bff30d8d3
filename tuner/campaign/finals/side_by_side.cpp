#include "tuner/campaign/finals/side_by_side.hpp"

#include <algorithm>
#include <utility>

#include "tuner/campaign/finals/comparing.hpp"
#include "tuner/campaign/finals/named_trials.hpp"
#include "tuner/campaign/pacing.hpp"
#include "tuner/executor/pair_driver.hpp"

namespace nocturne::tuner {

bool SideBySide::time_for(std::chrono::nanoseconds work) {
  if (!settings_.end || session_.clock.steady() + work <= *settings_.end) return true;
  result_.out_of_time = true;
  return false;
}

void SideBySide::compare(const std::vector<db::StoredTrial>& sides) {
  const db::StoredTrial& reference = sides.front();
  if (reference.trial.outcome != space::Outcome::Ok) return;
  std::vector<const db::StoredTrial*> candidates;
  std::vector<Comparing> comparisons;
  for (const db::StoredTrial& side : std::span(sides).subspan(1)) {
    if (side.trial.outcome != space::Outcome::Ok || stopped()) continue;
    auto comparing = Comparing::open(session_, reference, side, kCompareRole);
    if (!comparing) continue;
    candidates.push_back(&side);
    comparisons.push_back(std::move(*comparing));
  }
  const CampaignSpec& spec = session_.spec;
  measure::ComparisonPolicy policy = settings_.policy;
  policy.margin_percent = spec.verify.margin_percent;
  auto driver = PairDriver::open(pointers_to(comparisons), policy, spec.strategy.seed);
  const auto time_for_pair = [&](std::size_t member, std::chrono::nanoseconds pair) {
    const auto forecast = forecast_pair(spec.verify, pace_of(spec, reference), pace_of(spec, *candidates[member]));
    return time_for(std::max(forecast, pair));
  };
  const auto measuring = [&](std::size_t member) {
    session_.observer.comparing(reference.trial, candidates[member]->trial);
  };
  (void)driver.run({.time_for = time_for_pair, .measuring = measuring});
  driver.stop();
}

SideBySideResult SideBySide::run(std::span<const space::Configuration> sides, const SideBySideSettings& settings) {
  settings_ = settings;
  NamedTrials named(session_);
  named.open();
  result_.campaign = session_.campaign;
  std::vector<db::StoredTrial> trials;
  for (const space::Configuration& side : sides) {
    auto trial = time_for({}) ? named.trial_of(side) : named.known(side);
    if (!trial && trials.empty()) break;  // without the reference there is nothing to compare with
    if (trial) trials.push_back(std::move(*trial));
  }
  if (!trials.empty()) compare(trials);
  result_.interrupted = session_.interruption.requested();
  named.close();
  return result_;
}

}  // namespace nocturne::tuner
