#include "measure/comparison/race.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

namespace nocturne::measure {
namespace {

/// Runs a race to its end; pairs have Student's t noise of that scale.
void finish(Race& race, const std::vector<double>& truth, double scale, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::student_t_distribution<double> noise(4);
  while (const auto pair = race.next()) race.tell(truth[pair->first] - truth[pair->second] + scale * noise(random));
}

/// Over 100 races of twelve that lie around their beliefs with that sd, and are said to with 0.04.
double mean_sd_factor(double sd, std::uint64_t first_seed) {
  std::mt19937_64 random(first_seed);
  std::normal_distribution<double> prior(0, sd);
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    std::vector<double> truth(12);
    for (double& each : truth) each = prior(random);
    Race race(std::vector<Entrant>(12, {.error = 0.04}), {}, seed);
    finish(race, truth, RacePolicy{}.scale, seed);
    sum += race.sd_factor();
  }
  return sum / 100;
}

}  // namespace

TEST_CASE("a race finds five percent among thirty with noise of two in most cases", "[race]") {
  std::vector<double> truth(30, 0.0);
  truth[17] = 0.05;
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Race race(std::vector<Entrant>(30, {.error = 0.02}), {}, seed);
    finish(race, truth, RacePolicy{}.scale, seed);
    CHECK(race.pairs() <= RacePolicy{}.most_pairs);
    found += race.leader() == 17 ? 1 : 0;
  }
  INFO("found in " << found << " of 200");
  CHECK(found >= 180);
}

TEST_CASE("in a round all meet once, and who was left over meets first in the next", "[race]") {
  Race race(std::vector<Entrant>(5, {.error = 0.04}), {.rounds = 2, .most_pairs = 5, .certainty = 1.1}, 3);
  std::set<std::size_t> met;
  for (int meeting = 0; meeting < 3; ++meeting) {
    const auto pair = race.next();
    REQUIRE(pair);
    CHECK(pair->first != pair->second);
    met.insert({pair->first, pair->second});
    if (meeting == 1) CHECK(met.size() == 4);
    race.tell(0);
  }
  CHECK(met.size() == 5);
}

TEST_CASE("one wild pair hardly moves the standings, and the sd is that of prior and pairs", "[race]") {
  // The second of two, known to 1e-6 as 0: the first is N(0, 0.1²), and each pair tells of it 5/7 per scale².
  const std::vector<Entrant> entrants = {{.gain = 0, .error = 0.1}, {.gain = 0, .error = 1e-6}};
  Race race(entrants, {.most_pairs = 5, .scale = 0.01, .scale_pairs = 1e9, .certainty = 1.1}, 1);
  for (int told = 0; told < 4; ++told) {
    REQUIRE(race.next());
    race.tell(0);
  }
  CHECK(race.standings()[0].error == Catch::Approx(1 / std::sqrt(100 + 4 * 5.0 / 7 / 1e-4)).epsilon(1e-6));
  REQUIRE(race.next());
  race.tell(race.next()->first == 0 ? 1 : -1);
  CHECK(std::abs(race.standings()[0].gain) < 0.001);  // the mean of the five is 0.2
  CHECK_FALSE(race.next());
}

TEST_CASE("the sd of the standings is what they miss the truth by", "[race]") {
  constexpr double kScale = 0.02, kPrior = 0.1;
  std::mt19937_64 random(3);
  std::normal_distribution<double> prior(0, kPrior);
  int held = 0, of = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    std::vector<double> truth(5);
    std::vector<Entrant> entrants(5, {.error = kPrior});
    for (double& each : truth) each = prior(random);
    entrants[0].error = 1e-6;  // what lies between them is known to the pairs alone
    truth[0] = 0;
    Race race(entrants, {.rounds = 20, .most_pairs = 40, .scale = kScale, .certainty = 1.1}, seed);
    finish(race, truth, kScale, seed);
    const auto standings = race.standings();
    for (std::size_t i = 1; i < truth.size(); ++i, ++of)
      held += std::abs(standings[i].gain - truth[i]) < 1.96 * standings[i].error ? 1 : 0;
  }
  INFO("held " << held << " of " << of);
  CHECK(held > 0.93 * of);
  CHECK(held < 0.97 * of);
}

TEST_CASE("pairs that scatter otherwise than was said teach the race their scale", "[race]") {
  for (const double scale : {0.004, 0.1}) {
    Race race(std::vector<Entrant>(6, {.error = 0.05}), {.rounds = 40, .most_pairs = 100, .certainty = 1.1}, 2);
    finish(race, std::vector<double>(6, 0.0), scale, 8);
    CHECK(race.scale() > scale / 1.5);
    CHECK(race.scale() < scale * (scale < RacePolicy{}.scale ? 2.5 : 1.5));  // ten pairs' worth of belief is left
  }
}

TEST_CASE("entrants that lie farther from what they were believed to be than was said are believed less", "[race]") {
  const double factor = mean_sd_factor(0.12, 5);
  INFO("a factor of three is found as " << factor);
  CHECK(factor > 1.8);
  CHECK(factor < 3);
}

TEST_CASE("who a round left over meets one of the others", "[race]") {
  // Whoever it is: the last one is believed to be far behind.
  const std::vector<Entrant> entrants = {{.gain = 0.5, .error = 0.01}, {.gain = 0.5, .error = 0.01}, {.error = 0.01}};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Race race(entrants, {.rounds = 1, .most_pairs = 2, .certainty = 1.1}, seed);
    std::set<std::size_t> met;
    while (const auto pair = race.next()) {
      met.insert({pair->first, pair->second});
      race.tell(entrants[pair->first].gain - entrants[pair->second].gain);
    }
    CHECK(met.size() == 3);
  }
}

TEST_CASE("entrants that are what they were believed to be are believed", "[race]") {
  CHECK(mean_sd_factor(0.04, 7) < 1.2);
}

TEST_CASE("two that are as good as equal are not raced on", "[race]") {
  const std::vector<double> truth = {0, 0.001};
  std::vector<int> pairs;
  for (const double margin : {0.0, 0.02}) {
    Race race(std::vector<Entrant>(2, {.error = 0.02}), {.margin = margin}, 4);
    finish(race, truth, 0.01, 4);
    pairs.push_back(race.pairs());
  }
  CHECK(pairs[0] == RacePolicy{}.most_pairs);
  CHECK(pairs[1] < 12);
}

TEST_CASE("pairs that were measured before count as if they had been told", "[race]") {
  const std::vector<Entrant> entrants(4, {.error = 0.05});
  const RacePolicy policy{.most_pairs = 6, .certainty = 1.1};
  Race race(entrants, policy, 1);
  std::vector<RaceAnswer> known;
  while (race.next()) {
    known.push_back({.pair = *race.next(), .log_ratio = 0.01 * static_cast<double>(known.size())});
    race.tell(known.back().log_ratio);
  }
  const Race again(entrants, policy, 2, known);
  CHECK_FALSE(again.next());
  CHECK(again.pairs() == 6);
  for (std::size_t i = 0; i < entrants.size(); ++i)
    CHECK(again.standings()[i].gain == Catch::Approx(race.standings()[i].gain).margin(2e-4));
  const Race fewer(entrants, policy, 2, {known[0]});
  REQUIRE(fewer.next());  // those who have met need not meet again in the first round
  for (const std::size_t i : {fewer.next()->first, fewer.next()->second})
    CHECK((i != known[0].pair.first && i != known[0].pair.second));
}

TEST_CASE("two that never met are compared by those whom both met", "[race]") {
  // Six rounds of three pairs join all six in chains.
  const std::vector<double> truth = {0, 0.1, 0.2, 0.3, 0.4, 0.5};
  Race race(std::vector<Entrant>(6, {.gain = 0, .error = 1}), {.rounds = 6, .most_pairs = 18, .certainty = 1.1}, 3);
  finish(race, truth, 1e-6, 1);
  const auto standings = race.standings();
  for (std::size_t i = 1; i < truth.size(); ++i)
    CHECK(std::abs(standings[i].gain - standings[0].gain - truth[i]) < 1e-3);
}

TEST_CASE("a clear race is short, and who cannot be measured leaves it", "[race]") {
  const std::vector<double> truth = {0, 0.3, 0.0, 0.0};
  Race race(std::vector<Entrant>(4, {.gain = 0, .error = 0.3}), {}, 1);
  finish(race, truth, 0.001, 1);
  CHECK(race.leader() == 1);
  CHECK(race.pairs() < 15);
  Race other({{.gain = 0.1, .error = 0.04}, {.gain = 0, .error = 0.04}}, {}, 1);
  REQUIRE(other.next());
  CHECK(other.leader() == 0);
  other.leave(0);
  CHECK_FALSE(other.next());
  CHECK(other.leader() == 1);
}

TEST_CASE("the same seed and the same answers give the same race", "[race]") {
  const std::vector<double> truth(10, 0.0);
  std::vector<double> gains;
  for (int time = 0; time < 2; ++time) {
    Race race(std::vector<Entrant>(10, {.error = 0.04}), {}, 5);
    finish(race, truth, 0.021, 9);
    gains.push_back(race.standings()[3].gain);
  }
  CHECK(gains[0] == gains[1]);
}

TEST_CASE("several pairs of a race at once are as many as may be, and find who is fastest", "[race]") {
  std::vector<double> truth(12, 0.0);
  truth[5] = 0.08;
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Race race(std::vector<Entrant>(12, {.error = 0.02}), {}, seed);
    std::mt19937_64 random(seed);
    std::student_t_distribution<double> noise(4);
    std::vector<RacePair> under_way;
    std::set<std::size_t> met;
    for (;;) {
      while (const auto pair = under_way.size() < 3 ? race.next_beside(under_way) : std::nullopt) {
        // Nobody meets twice in the first round.
        if (met.size() < 12) CHECK((met.insert(pair->first).second && met.insert(pair->second).second));
        under_way.push_back(*pair);
        CHECK(race.pairs() + static_cast<int>(under_way.size()) <= RacePolicy{}.most_pairs);
      }
      if (under_way.empty()) break;
      const auto landed = under_way.begin() + static_cast<std::ptrdiff_t>(random() % under_way.size());
      const RacePair pair = *landed;
      under_way.erase(landed);
      race.tell(pair, truth[pair.first] - truth[pair.second] + RacePolicy{}.scale * noise(random));
    }
    CHECK_FALSE(race.next());
    found += race.leader() == 5 ? 1 : 0;
  }
  INFO("found in " << found << " of 50");
  CHECK(found >= 45);
}

TEST_CASE("the last entrant of a race does not leave it", "[race]") {
  Race race(std::vector<Entrant>(2, {.error = 0.02}), {}, 1);
  race.leave(1);
  race.leave(0);  // both were in pairs that were under way
  CHECK(race.leader() == 0);
  CHECK_FALSE(race.next());
}

}  // namespace nocturne::measure
