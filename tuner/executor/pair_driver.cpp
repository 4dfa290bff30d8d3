#include "tuner/executor/pair_driver.hpp"

namespace nocturne::tuner {

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
  if (end == PairEnd::Failed) comparison_.tell(measure::PairFailure::Side);
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

}  // namespace nocturne::tuner
