#include "tuner/campaign/answer/stored_gain.hpp"

#include "tuner/campaign/answer/answer.hpp"
#include "tuner/campaign/finals/comparing.hpp"

namespace nocturne::tuner {

StoredGain gain_of(const db::VerdictRecord& verdict, const std::string& role, bool turned) {
  StoredGain gain{.verdict = verdict.verdict,
                  .confidence = verdict.confidence,
                  .pairs = verdict.pairs,
                  .epochs = verdict.horizon_epochs,
                  .role = role};
  const double sign = turned ? -1 : 1;
  gain.gain_percent = gain_percent(sign * verdict.log_ratio_mean);
  gain.low_percent = gain_percent(turned ? -verdict.log_ratio_low : verdict.log_ratio_high);
  gain.high_percent = gain_percent(turned ? -verdict.log_ratio_high : verdict.log_ratio_low);
  if (turned && verdict.verdict == "faster") gain.verdict = "slower";
  if (turned && verdict.verdict == "slower") gain.verdict = "faster";
  return gain;
}

std::optional<StoredGain> stored_gain(const std::vector<db::StoredComparison>& comparisons,
                                      const space::Configuration& reference, const space::Configuration& candidate,
                                      double epochs) {
  std::optional<StoredGain> best;
  for (const db::StoredComparison& each : comparisons) {
    const bool straight = each.record.baseline == reference && each.record.candidate == candidate;
    const bool turned = each.record.baseline == candidate && each.record.candidate == reference;
    if ((!straight && !turned) || each.record.role == kSelectRole) continue;
    for (const db::VerdictRecord& verdict : each.verdicts) {
      if (verdict.horizon_epochs != epochs || (best && best->pairs > verdict.pairs)) continue;
      best = gain_of(verdict, each.record.role, turned);
    }
  }
  return best;
}

}  // namespace nocturne::tuner
