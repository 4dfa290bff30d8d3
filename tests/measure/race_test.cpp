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
  // The second of two, known to 1e-6 as 0: the first is N(0, 0.1²), and each pair tells of it with sd 0.01 / √w.
  const std::vector<Entrant> entrants = {{.gain = 0, .error = 0.1}, {.gain = 0, .error = 1e-6}};
  Race race(entrants, {.most_pairs = 5, .scale = 0.01, .certainty = 1.1}, 1);
  for (int told = 0; told < 4; ++told) {
    REQUIRE(race.next());
    race.tell(0);
  }
  // Residuals of 0 have the weight 5/4: precision 1/0.1² + 4 · (5/4)/0.01² = 50,100.
  CHECK(race.standings()[0].error == Catch::Approx(1 / std::sqrt(50'100.0)).epsilon(1e-6));
  REQUIRE(race.next());
  race.tell(race.next()->first == 0 ? 1 : -1);
  CHECK(std::abs(race.standings()[0].gain) < 0.001);  // the mean of the five is 0.2
  CHECK_FALSE(race.next());
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

}  // namespace nocturne::measure
