#include "tuner/campaign/finals/side_by_side.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "tuner/campaign/finals/named_trials.hpp"
#include "tuner/campaign/pacing.hpp"

namespace nocturne::tuner {

bool SideBySide::time_for(std::chrono::nanoseconds work) {
  if (!settings_.end || sitting_.clock.steady() + work <= *settings_.end) return true;
  result_.out_of_time = true;
  return false;
}

db::Expected<std::vector<SideBySide::Candidate>> SideBySide::candidates(const std::vector<db::StoredTrial>& sides) {
  std::vector<Candidate> open;
  for (const db::StoredTrial& side : std::span(sides).subspan(1)) {
    if (side.trial.outcome != space::Outcome::Ok || stopped()) continue;
    auto comparing = Comparing::open(sitting_, sides.front(), side, kCompareRole);
    if (!comparing) return std::unexpected(comparing.error());
    if (*comparing) open.push_back({.trial = &side, .comparing = std::move(**comparing)});
  }
  return open;
}

db::Expected<bool> SideBySide::add_pair(Candidate& candidate, const db::StoredTrial& reference, std::int64_t round) {
  Comparing& comparing = candidate.comparing;
  if (comparing.pairs() >= round) return true;
  const CampaignSpec& spec = sitting_.spec;
  const auto forecast = forecast_pair(spec.verify, paced(spec, reference), paced(spec, *candidate.trial));
  if (stopped() || !time_for(std::max(forecast, comparing.pair_time()))) return true;
  sitting_.observer.comparing(reference.trial, candidate.trial->trial);
  const auto measured = comparing.measure_up_to(round);
  if (!measured) return measured;
  return *measured || sitting_.interruption.requested();
}

db::Expected<bool> SideBySide::is_decided(Candidate& candidate, std::span<const measure::Look> plan) {
  const std::int64_t pairs = candidate.comparing.pairs();
  if (pairs < 2) return false;  // no interval yet
  const auto verdict =
      candidate.comparing.judge(measure::confidence_after(pairs, plan, 1 - kStatedConfidence), kStatedConfidence);
  if (!verdict) return std::unexpected(verdict.error());
  return *verdict && (*verdict)->verdict != measure::Verdict::Undecided;
}

db::Expected<void> SideBySide::compare(const std::vector<db::StoredTrial>& sides) {
  const db::StoredTrial& reference = sides.front();
  if (reference.trial.outcome != space::Outcome::Ok) return {};
  auto open = candidates(sides);
  if (!open) return std::unexpected(open.error());
  const auto plan =
      measure::plan_looks(settings_.pairs, std::max(settings_.pairs, settings_.most_pairs), 1 - kStatedConfidence);
  std::int64_t round = 0;
  for (auto look = plan.begin(); look != plan.end() && !open->empty() && !stopped(); ++look) {
    for (; round < look->pairs && !stopped(); ++round) {
      // A block: each candidate once.
      std::mt19937_64 random(sitting_.spec.strategy.seed * 1000 + static_cast<std::uint64_t>(round));
      std::ranges::shuffle(*open, random);
      for (auto each = open->begin(); each != open->end();) {
        const auto goes_on = add_pair(*each, reference, round + 1);
        if (!goes_on) return std::unexpected(goes_on.error());
        if (*goes_on) {
          ++each;
          continue;
        }
        // Pair after pair fails: what there is of it is judged, and the others go on.
        if (const auto judged = is_decided(*each, plan); !judged) return std::unexpected(judged.error());
        each = open->erase(each);
      }
    }
    for (auto each = open->begin(); each != open->end();) {
      const auto decided = is_decided(*each, plan);
      if (!decided) return std::unexpected(decided.error());
      each = *decided ? open->erase(each) : std::next(each);
    }
  }
  return {};
}

db::Expected<SideBySideResult> SideBySide::run(std::span<const space::Configuration> sides,
                                               const SideBySideSettings& settings) {
  settings_ = settings;
  NamedTrials named(sitting_);
  if (auto opened = named.open(); !opened) return std::unexpected(opened.error());
  result_.campaign = sitting_.campaign;
  std::vector<db::StoredTrial> trials;
  for (const space::Configuration& side : sides) {
    auto trial = time_for({}) ? named.trial_of(side) : named.known(side);
    if (!trial) return std::unexpected(trial.error());
    if (!*trial && trials.empty()) break;  // without the reference there is nothing to compare with
    if (*trial) trials.push_back(std::move(**trial));
  }
  if (!trials.empty()) {
    if (auto compared = compare(trials); !compared) return std::unexpected(compared.error());
  }
  result_.interrupted = sitting_.interruption.requested();
  if (auto closed = named.close(); !closed) return std::unexpected(closed.error());
  return result_;
}

}  // namespace nocturne::tuner
