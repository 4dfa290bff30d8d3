#include "measure/accuracy/curve_race.hpp"

#include <cmath>
#include <map>
#include <vector>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "space/random.hpp"
#include "tests/support/normal.hpp"

using namespace nocturne;
using namespace nocturne::measure;

namespace {

/// Four batch sizes, two precisions: epochs to the target grow with the batch, epochs of bf16 take half as long.
struct World {
  double scatter = 0.12;
  std::vector<double> epochs_of_batch = {1.6, 2.0, 2.6, 4.6}, seconds_of_batch = {30, 24, 21, 20};
  [[nodiscard]] double epochs(const LearningEntrant& each) const {
    return epochs_of_batch[static_cast<std::size_t>(each.values[0])] * (each.values[1] == 1 ? 1.05 : 1.0);
  }
  [[nodiscard]] EpochTimes times(const LearningEntrant& each) const {
    const double epoch = seconds_of_batch[static_cast<std::size_t>(each.values[0])];
    return {.startup = 1, .epoch = each.values[1] == 1 ? epoch * 0.55 : epoch, .log_sd = 0.03};
  }
  [[nodiscard]] double seconds(const LearningEntrant& each) const {
    return times(each).startup + epochs(each) * times(each).epoch;
  }
};

/// The default is batch 1 in f32.
std::vector<LearningEntrant> entrants() {
  std::vector<LearningEntrant> all = {{.values = {1, 0}, .crossings = {}, .times = {}}};
  for (std::int64_t batch = 0; batch < 4; ++batch)
    for (std::int64_t precision = 0; precision < 2; ++precision)
      if (batch != 1 || precision != 0) all.push_back({.values = {batch, precision}, .crossings = {}, .times = {}});
  return all;
}

struct Raced {
  std::size_t leader = 0;
  double seconds = 0;  ///< of all curves
  int curves = 0;
  std::vector<LearningEntrant> entrants;
};

Raced race(const World& world, std::uint64_t seed) {
  Raced raced{.entrants = entrants()};
  const CurvePolicy policy;
  while (const auto next = next_curve(raced.entrants, policy)) {
    LearningEntrant& each = raced.entrants[next->entrant];
    each.times = world.times(each);
    space::Random random(seed, 100 * next->entrant + each.crossings.size());
    const double at = std::ceil(4 * world.epochs(each) * std::exp(world.scatter * test::normal(random))) / 4;
    const auto most = static_cast<double>(next->most_epochs);
    each.crossings.push_back(at <= most ? Crossing{.below = at - 0.25, .reached = at}
                                        : Crossing{.below = most, .reached = {}});
    raced.seconds += each.times->startup + std::min(at, most) * each.times->epoch;
    if (++raced.curves > 60) FAIL("the race does not end");
  }
  const auto all = standings(raced.entrants, policy);
  for (std::size_t i = 1; i < all.size(); ++i)
    if (all[i].own && all[i].log_seconds < all[raced.leader].log_seconds) raced.leader = i;
  return raced;
}

}  // namespace

TEST_CASE("the default's curve comes first, then what may be faster, and hopeless ones end early", "[accuracy]") {
  auto all = entrants();
  const auto first = next_curve(all, {});
  REQUIRE(first);
  CHECK(first->entrant == 0);
  CHECK(first->most_epochs == CurvePolicy{}.most_epochs);
  const World world;
  all[0].times = world.times(all[0]);
  all[0].crossings = {{.below = 1.75, .reached = 2.0}, {.below = 1.75, .reached = 2.0}};
  const auto second = next_curve(all, {});
  REQUIRE(second);
  CHECK(second->entrant != 0);
  CHECK(second->most_epochs < CurvePolicy{}.most_epochs);
  all[0].failed = true;
  CHECK_FALSE(next_curve(all, {}));
}

TEST_CASE("an entrant without curves is expected where those lie that share its values", "[accuracy]") {
  auto all = entrants();
  const World world;
  for (LearningEntrant& each : all) {
    if (each.values == std::vector<std::int64_t>{3, 1}) continue;
    each.times = world.times(each);
    const double at = world.epochs(each);
    each.crossings.assign(3, {.below = at - 0.25, .reached = at});
  }
  const auto seen = standings(all, {});
  CHECK_FALSE(seen.back().own);
  CHECK(seen.back().epochs.mean == Catch::Approx(4.8).epsilon(0.1));
  CHECK(seen.back().times.epoch == Catch::Approx(11).epsilon(0.1));
  CHECK(seen.back().log_error > 2 * seen.front().log_error);
}

TEST_CASE("the race finds the true best of eight in most draws, for less than all curves cost", "[accuracy]") {
  const World world;
  int found = 0, near = 0;
  double spent = 0, all_three = 0;
  constexpr int kRaces = 20;
  for (std::uint64_t seed = 0; seed < kRaces; ++seed) {
    const Raced raced = race(world, seed);
    double best = 1e9;
    for (const LearningEntrant& each : raced.entrants) best = std::min(best, world.seconds(each));
    const double chosen = world.seconds(raced.entrants[raced.leader]);
    found += chosen == best;
    near += chosen < 1.05 * best;
    spent += raced.seconds;
    for (const LearningEntrant& each : raced.entrants) all_three += 3 * world.seconds(each);
  }
  CAPTURE(found, near, spent / kRaces, all_three / kRaces);
  CHECK(near >= 0.9 * kRaces);
  CHECK(spent < 0.7 * all_three);
}

TEST_CASE("who does not train is out of the race", "[accuracy]") {
  auto all = entrants();
  const World world;
  all[0].times = world.times(all[0]);
  all[0].crossings.assign(2, {.below = 1.75, .reached = 2.0});
  for (std::size_t i = 1; i < all.size(); ++i) all[i].failed = true;
  CHECK_FALSE(next_curve(all, {}));
}
