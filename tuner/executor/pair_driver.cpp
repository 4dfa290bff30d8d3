#include "tuner/executor/pair_driver.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

#include "tuner/executor/pair_flights.hpp"

namespace nocturne::tuner {
namespace {

/// A race, and what befalls its pairs.
class RaceInHand {
 public:
  RaceInHand(measure::Race& race, const RaceControl& control) : race_(race), control_(control) {}

  /// Measures one pair here and tells the race. False: other hands end pair after pair.
  bool measure_here(const measure::RacePair& pair, PairSeries& series);
  /// What became of a pair of the series, which had so many ratios before it.
  bool tell(const measure::RacePair& pair, const PairSeries& series, std::size_t known, PairEnd end);
  void say_progress(const PairSeries& series) const { series.observer().verifying(race_.pairs(), control_.most_pairs); }

 private:
  measure::Race& race_;
  const RaceControl& control_;
  std::map<std::size_t, int> failures_;  ///< of an entrant, since its last pair that was measured
  int losses_ = 0;                       ///< in a row
};

bool RaceInHand::measure_here(const measure::RacePair& pair, PairSeries& series) {
  const auto known = series.log_ratios().size();
  say_progress(series);
  return tell(pair, series, known, series.measure_pair());
}

bool RaceInHand::tell(const measure::RacePair& pair, const PairSeries& series, std::size_t known, PairEnd end) {
  if (end == PairEnd::Suspended) return true;
  if (end == PairEnd::Lost) return ++losses_ < measure::kMostLosses;
  losses_ = 0;
  const auto ratios = end == PairEnd::Stored ? series.log_ratios() : std::vector<double>();
  if (ratios.size() > known) {
    failures_[pair.first] = failures_[pair.second] = 0;
    race_.tell(pair, ratios.back());
    series.observer().pair_finished(race_.pairs(), control_.most_pairs, measure::compare(ratios));
    return true;
  }
  // Stored, and nobody can judge it: which side is to blame is not known, and the candidate is likelier the odd one.
  const std::size_t culprit = end == PairEnd::BaselineFailed ? pair.second : pair.first;
  if (++failures_[culprit] >= measure::kMostFailures) race_.leave(culprit);
  return true;
}

/// The pairs of a race, up to three at once.
class RaceOnNodes {
 public:
  RaceOnNodes(measure::Race& race, const RaceControl& control)
      : race_(race), control_(control), in_hand_(race, control), flights_(*control.nodes) {}

  [[nodiscard]] PairsEnd run() {
    for (std::optional<PairsEnd> end;;) {
      if (!end) end = begin_pairs();
      if (!flights_.empty()) {
        if (!land()) end = PairsEnd::Complete;
      } else if (end) {
        return *end;
      }
    }
  }

 private:
  /// Set: no further one is begun, and why.
  [[nodiscard]] std::optional<PairsEnd> begin_pairs();
  /// False: other hands end pair after pair.
  [[nodiscard]] bool land();

  measure::Race& race_;
  const RaceControl& control_;
  RaceInHand in_hand_;
  PairFlights flights_;
  std::map<std::size_t, measure::RacePair> begun_;  ///< under way, by the count of those begun before
  std::size_t count_ = 0;
};

std::optional<PairsEnd> RaceOnNodes::begin_pairs() {
  while (!flights_.is_full()) {
    std::vector<measure::RacePair> under_way;
    for (const auto& [key, pair] : begun_) under_way.push_back(pair);
    const auto next = race_.next_beside(under_way);
    if (!next) return flights_.empty() ? std::optional(PairsEnd::Complete) : std::nullopt;
    PairSeries& series = control_.pairs_of(*next);
    if (series.interrupted()) return PairsEnd::Interrupted;
    const auto node = flights_.node_for(series);
    if (!node && !flights_.empty()) return std::nullopt;  // the last free one was left out
    if (!control_.time_for(*next)) return PairsEnd::OutOfTime;
    if (!node) return in_hand_.measure_here(*next, series) ? std::nullopt : std::optional(PairsEnd::Complete);
    in_hand_.say_progress(series);
    begun_.emplace(count_, *next);
    flights_.begin(*node, count_++, series);
  }
  return std::nullopt;
}

bool RaceOnNodes::land() {
  auto landed = flights_.next();
  const auto begun = begun_.extract(landed.key);
  const auto known = landed.series->log_ratios().size();
  const PairEnd end = landed.series->take(std::move(landed.pair));
  return in_hand_.tell(begun.mapped(), *landed.series, known, end);
}

bool has_nodes(const OrderExecutor* executor) {
  return executor != nullptr && !executor->pair_nodes().empty();
}

}  // namespace

PairDriver::PairDriver(std::vector<PairSeries*> members, measure::SequentialComparison comparison)
    : members_(std::move(members)),
      comparison_(std::move(comparison)),
      saved_(members_.size()),
      in_flight_(members_.size(), 0) {}

PairDriver PairDriver::open(std::vector<PairSeries*> members, const measure::ComparisonPolicy& policy,
                            std::uint64_t seed) {
  std::vector<std::vector<double>> known;
  std::vector<std::vector<std::string>> nodes;
  for (const PairSeries* member : members) {
    known.push_back(member->log_ratios());
    nodes.push_back(member->nodes());
  }
  return PairDriver(
      std::move(members),
      measure::SequentialComparison(std::move(known), policy, measure::kComparisonError, seed, std::move(nodes)));
}

PairsEnd PairDriver::run(const PairsControl& control) {
  if (has_nodes(control.nodes)) return run_on_nodes(control);
  for (;;) {
    if (control.keep_verdicts) save_verdicts(false);
    const auto next = comparison_.next();
    if (!next) return PairsEnd::Complete;
    PairSeries& member = *members_[*next];
    if (member.interrupted()) return PairsEnd::Interrupted;
    if (!control.time_for(*next, member.pair_time())) return PairsEnd::OutOfTime;
    control.measuring(*next);
    measure_next(*next);
  }
}

PairsEnd PairDriver::run_on_nodes(const PairsControl& control) {
  std::vector<std::string> known;
  for (const PairSeries* member : members_)
    for (const std::string& node : member->nodes())
      if (std::ranges::find(known, node) == known.end()) known.push_back(node);
  PairFlights flights(*control.nodes, std::move(known), control.avoided);
  for (std::optional<PairsEnd> end;;) {
    if (control.keep_verdicts) save_verdicts(false);
    if (!end) end = begin_pairs(flights, control);
    if (!flights.empty()) {
      auto landed = flights.next();
      --in_flight_[landed.key];
      tell(landed.key, landed.series->take(std::move(landed.pair)));
    } else if (end) {
      return comparison_.next() ? *end : PairsEnd::Complete;
    }
  }
}

std::optional<PairsEnd> PairDriver::begin_pairs(PairFlights& flights, const PairsControl& control) {
  for (;;) {
    const auto next = comparison_.next_beside(in_flight_);
    if (!next) return flights.empty() ? std::optional(PairsEnd::Complete) : std::nullopt;
    PairSeries& member = *members_[*next];
    if (member.interrupted()) return PairsEnd::Interrupted;
    const auto node = flights.node_for(member, comparison_.next_look());
    if (!node && !flights.empty()) return std::nullopt;  // all are busy, or have their share
    if (!control.time_for(*next, member.pair_time())) return PairsEnd::OutOfTime;
    control.measuring(*next);
    if (!node) {  // none is left
      measure_next(*next);
      return std::nullopt;
    }
    say_progress(*next);
    flights.begin(*node, *next, member);
    ++in_flight_[*next];
  }
}

void PairDriver::say_progress(std::size_t index) const {
  members_[index]->observer().verifying(std::ssize(comparison_.members()[index].log_ratios), comparison_.next_look());
}

void PairDriver::measure_next(std::size_t index) {
  say_progress(index);
  tell(index, members_[index]->measure_pair());
}

void PairDriver::tell(std::size_t index, PairEnd end) {
  if (end == PairEnd::BaselineFailed || end == PairEnd::CandidateFailed)
    comparison_.tell(index, measure::PairFailure::Side);
  if (end == PairEnd::Lost) comparison_.tell(index, measure::PairFailure::Outside);
  if (end != PairEnd::Stored) return;
  const PairSeries& member = *members_[index];
  const auto ratios = member.log_ratios();
  const int wanted = comparison_.next_look();
  if (ratios.size() > comparison_.members()[index].log_ratios.size())
    comparison_.tell(index, ratios.back(), member.nodes().back());
  else
    comparison_.tell(index, measure::PairFailure::Side);  // it is stored, but nobody can judge it
  member.observer().pair_finished(std::ssize(ratios), wanted, comparison_.so_far(index));
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
  if (has_nodes(control.nodes)) return RaceOnNodes(race, control).run();
  RaceInHand in_hand(race, control);
  while (const auto pair = race.next()) {
    PairSeries& series = control.pairs_of(*pair);
    if (series.interrupted()) return PairsEnd::Interrupted;
    if (!control.time_for(*pair)) return PairsEnd::OutOfTime;
    if (!in_hand.measure_here(*pair, series)) break;
  }
  return PairsEnd::Complete;
}

}  // namespace nocturne::tuner
