// Which pairs of a race are measured, and what becomes of those that cannot be.

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "tuner/executor/pair_driver.hpp"

namespace nocturne::test {
namespace {

using measure::Entrant;
using measure::Race;
using measure::RacePair;
using tuner::PairEnd;
using tuner::PairsEnd;

/// Entrants without processes: each has a true gain; those that are broken fail in every pair.
struct Track {
  std::vector<double> gains;
  std::map<std::size_t, bool> broken{};
  PairEnd fate = PairEnd::Stored;
  bool stopped = false;
  int measured = 0;
};

class FakeSeries final : public tuner::PairSeries {
 public:
  FakeSeries(Track& track, RacePair pair) : track_(&track), pair_(pair) {}
  PairEnd measure_pair() override {
    ++track_->measured;
    if (track_->broken[pair_.second]) return PairEnd::BaselineFailed;
    if (track_->broken[pair_.first]) return PairEnd::CandidateFailed;
    if (track_->fate == PairEnd::Stored) ratios_.push_back(track_->gains[pair_.first] - track_->gains[pair_.second]);
    return track_->fate;
  }
  tuner::PairOrder next_order(bool candidate_first) override { return {.index = candidate_first ? 1 : 0}; }
  PairEnd take(tuner::PairOnNode ended) override {
    const PairEnd end = measure_pair();
    if (end == PairEnd::Stored) nodes_.push_back(ended.node);
    return end;
  }
  std::vector<double> log_ratios() const override { return ratios_; }
  std::vector<std::string> nodes() const override {
    auto names = nodes_;
    names.resize(ratios_.size());
    return names;
  }
  std::chrono::nanoseconds pair_time() const override { return {}; }
  void save_verdicts(double /*confidence*/) const override {}
  bool interrupted() const override { return track_->stopped; }
  tuner::OrderObserver& observer() const override { return observer_; }

 private:
  Track* track_;
  RacePair pair_;
  std::vector<double> ratios_;
  std::vector<std::string> nodes_;
  mutable tuner::OrderObserver observer_;
};

PairsEnd run(Race& race, Track& track) {
  std::map<std::pair<std::size_t, std::size_t>, FakeSeries> series;
  return tuner::run_race(race, {.pairs_of = [&](const RacePair& pair) -> tuner::PairSeries& {
                           return series.try_emplace({pair.first, pair.second}, track, pair).first->second;
                         }});
}

}  // namespace

TEST_CASE("a race is measured until the fastest is known", "[race]") {
  Track track{.gains = {0, 0.05, 0.3, 0.1}};
  Race race(std::vector<Entrant>(4, {.error = 0.2}), {}, 1);
  CHECK(run(race, track) == PairsEnd::Complete);
  CHECK(race.leader() == 2);
  CHECK(race.pairs() == track.measured);
}

TEST_CASE("the entrant that fails in its pairs leaves, and not the one that it met", "[race]") {
  for (const std::size_t broken : {0UL, 1UL, 2UL}) {
    Track track{.gains = {0.3, 0.2, 0.1}, .broken = {{broken, true}}};
    Race race(std::vector<Entrant>(3, {.error = 0.2}), {}, 1);
    CHECK(run(race, track) == PairsEnd::Complete);
    for (const std::size_t each : {0UL, 1UL, 2UL}) CHECK(race.has_left(each) == (each == broken));
    CHECK(race.leader() == (broken == 0 ? 1 : 0));
  }
}

TEST_CASE("pairs that other hands end again and again end the race, and nobody is blamed", "[race]") {
  Track track{.gains = {0, 0.1}, .fate = PairEnd::Lost};
  Race race(std::vector<Entrant>(2, {.error = 0.2}), {}, 1);
  CHECK(run(race, track) == PairsEnd::Complete);
  CHECK(track.measured == measure::kMostLosses);
  CHECK_FALSE((race.has_left(0) || race.has_left(1)));
}

TEST_CASE("a race that is interrupted begins no further pair", "[race]") {
  Track track{.gains = {0, 0.1}, .stopped = true};
  Race race(std::vector<Entrant>(2, {.error = 0.2}), {}, 1);
  CHECK(run(race, track) == PairsEnd::Interrupted);
  CHECK(track.measured == 0);
}

}  // namespace nocturne::test
