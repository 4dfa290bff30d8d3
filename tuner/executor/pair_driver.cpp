#include "tuner/executor/pair_driver.hpp"

#include <map>

namespace nocturne::tuner {
namespace {

/// Counts what befalls the pairs of a race.
struct RaceTroubles {
  std::map<std::size_t, int> failures;  ///< of an entrant, since its last pair that was measured
  int losses = 0;                       ///< in a row
};

/// Measures one pair and tells the race. False: other hands end pair after pair.
bool measure_for(measure::Race& race, const measure::RacePair& pair, PairSeries& series, int most_pairs,
                 RaceTroubles& troubles) {
  const auto known = series.log_ratios().size();
  series.observer().verifying(race.pairs(), most_pairs);
  const auto end = series.measure_pair();
  if (end == PairEnd::Suspended) return true;
  if (end == PairEnd::Lost) return ++troubles.losses < measure::kMostLosses;
  troubles.losses = 0;
  const auto ratios = end == PairEnd::Stored ? series.log_ratios() : std::vector<double>();
  if (ratios.size() > known) {
    troubles.failures[pair.first] = troubles.failures[pair.second] = 0;
    race.tell(ratios.back());
    series.observer().pair_finished(race.pairs(), most_pairs, measure::compare(ratios));
    return true;
  }
  // Stored, and nobody can judge it: which side is to blame is not known, and the candidate is likelier the odd one.
  const std::size_t culprit = end == PairEnd::BaselineFailed ? pair.second : pair.first;
  if (++troubles.failures[culprit] >= measure::kMostFailures) race.leave(culprit);
  return true;
}

}  // namespace

PairDriver::PairDriver(std::vector<PairSeries*> members, measure::SequentialComparison comparison)
    : members_(std::move(members)), comparison_(std::move(comparison)), saved_(members_.size()) {}

PairDriver PairDriver::open(std::vector<PairSeries*> members, const measure::ComparisonPolicy& policy,
                            std::uint64_t seed) {
  std::vector<std::vector<double>> known;
  for (const PairSeries* member : members) known.push_back(member->log_ratios());
  return PairDriver(std::move(members),
                    measure::SequentialComparison(std::move(known), policy, measure::kComparisonError, seed));
}

PairsEnd PairDriver::run(const PairsControl& control) {
  for (;;) {
    if (control.keep_verdicts) save_verdicts(false);
    const auto next = comparison_.next();
    if (!next) return PairsEnd::Complete;
    PairSeries& member = *members_[*next];
    if (member.interrupted()) return PairsEnd::Interrupted;
    if (!control.time_for(*next, member.pair_time())) return PairsEnd::OutOfTime;
    control.measuring(*next);
    measure_next(member, comparison_.members()[*next]);
  }
}

void PairDriver::measure_next(PairSeries& member, const measure::ComparisonMember& known) {
  OrderObserver& observer = member.observer();
  const int wanted = comparison_.next_look();
  observer.verifying(std::ssize(known.log_ratios), wanted);
  const auto end = member.measure_pair();
  if (end == PairEnd::BaselineFailed || end == PairEnd::CandidateFailed) comparison_.tell(measure::PairFailure::Side);
  if (end == PairEnd::Lost) comparison_.tell(measure::PairFailure::Outside);
  if (end != PairEnd::Stored) return;
  const auto ratios = member.log_ratios();
  observer.pair_finished(std::ssize(ratios), wanted, measure::compare(ratios));
  if (ratios.size() > known.log_ratios.size())
    comparison_.tell(ratios.back());
  else
    comparison_.tell(measure::PairFailure::Side);  // it is stored, but nobody can judge it
}

void PairDriver::stop() {
  comparison_.stop();
  save_verdicts(true);
}

void PairDriver::save_verdicts(bool of_all) {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const measure::ComparisonMember& member = comparison_.members()[i];
    const bool left = member.state == measure::MemberState::Failed || member.state == measure::MemberState::Lost;
    if (!member.comparison || (left && !of_all)) continue;
    const std::pair judged(member.comparison->pairs, member.confidence);
    if (judged == saved_[i]) continue;
    members_[i]->save_verdicts(member.confidence);
    saved_[i] = judged;
  }
}

PairsEnd run_race(measure::Race& race, const RaceControl& control) {
  RaceTroubles troubles;
  while (const auto pair = race.next()) {
    PairSeries& series = control.pairs_of(*pair);
    if (series.interrupted()) return PairsEnd::Interrupted;
    if (!control.time_for(*pair)) return PairsEnd::OutOfTime;
    if (!measure_for(race, *pair, series, control.most_pairs, troubles)) break;
  }
  return PairsEnd::Complete;
}

}  // namespace nocturne::tuner
