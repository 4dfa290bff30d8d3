#include "space/lattice.hpp"

#include <catch2/catch_test_macros.hpp>
#include <map>
#include <set>

#include "tests/space/build.hpp"
#include "tests/space/random_space.hpp"

namespace nocturne::space {

using namespace test;

namespace {

std::vector<std::string> canonical(const Lattice& lattice, const PointList& points) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < points.size(); ++i) result.push_back(lattice.configuration(points[i]).canonical());
  return result;
}

}  // namespace

TEST_CASE("a lattice's draws, neighbours and points are those of its space", "[space]") {
  std::uint64_t seed = 1;
  for (int round = 0; round < 60; ++round) {
    Description description;
    const auto space = random_space(seed, description);
    const auto valid = valid_by_brute_force(space, description);
    Lattice lattice(space);
    REQUIRE(lattice.complete());
    Random random(seed);
    std::vector<Level> point(lattice.width());
    for (int draw = 0; draw < 20; ++draw) {
      REQUIRE(lattice.sample(random, point));
      CHECK(lattice.valid(point));
      const auto configuration = lattice.configuration(point);
      CHECK(valid.contains(configuration.canonical()));
      CHECK(lattice.point_of(configuration) == point);
      PointList found(lattice.width());
      lattice.neighbours(point, found);
      std::multiset<std::string> expected;
      for (const auto& each : space.neighbours(configuration, Reach::All)) expected.insert(each.canonical());
      const auto names = canonical(lattice, found);
      CHECK(std::multiset<std::string>(names.begin(), names.end()) == expected);
    }
  }
}

TEST_CASE("settling any levels gives what normalising gives, and says whether it is valid", "[space]") {
  std::uint64_t seed = 500;
  for (int round = 0; round < 60; ++round) {
    Description description;
    const auto space = random_space(seed, description);
    const auto valid = valid_by_brute_force(space, description);
    Lattice lattice(space);
    Random random(seed);
    std::vector<Level> point(lattice.width());
    for (int draw = 0; draw < 50; ++draw) {
      Configuration raw;
      for (std::size_t i = 0; i < point.size(); ++i) {
        point[i] = static_cast<Level>(random.below(lattice.axis(i).levels));
        raw.set(lattice.parameter(i).name, lattice.axis(i).values[point[i]]);
      }
      const bool good = lattice.settle(point);
      const auto configuration = lattice.configuration(point);
      CHECK(configuration == space.normalise(raw));
      CHECK(good == valid.contains(configuration.canonical()));
      CHECK(lattice.valid(point) == good);
    }
  }
}

TEST_CASE("draws of a lattice are uniform over the valid configurations", "[space]") {
  const auto space =
      make_space({integers("a", 0, 3), boolean("b"), choices("c", {std::string("x"), std::string("y")}, "b")},
                 {require_that("a < 3 or not b")});
  Lattice lattice(space);
  Random random(1);
  std::vector<Level> point(lattice.width());
  std::map<std::uint64_t, int> seen;
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    REQUIRE(lattice.sample(random, point));
    ++seen[hash_of(point)];
  }
  CHECK(seen.size() == 10);  // four without b, three times two with it
  for (const auto& [hash, count] : seen) CHECK(std::abs(count - kDraws / 10) < 250);  // six standard deviations
}

TEST_CASE("a long axis has levels that occur, its ends and its default among them", "[space]") {
  const auto space = make_space({with_default(integers("batch", 1, 1000), std::int64_t{104}), boolean("fast")},
                                {require_that("batch % 8 == 0")});
  Lattice lattice(space);
  const auto& axis = lattice.axis(0);
  CHECK_FALSE(lattice.complete());
  CHECK_FALSE(axis.complete);
  CHECK(axis.levels > 55);
  CHECK(axis.levels <= Lattice::kSpread + 1);
  CHECK(axis.numbers.front() == 8);
  CHECK(axis.numbers.back() == 1000);
  CHECK(axis.values[axis.default_level] == Value(std::int64_t{104}));
  for (const auto number : axis.numbers) CHECK(static_cast<int>(number) % 8 == 0);
  Configuration between = space.default_configuration();
  between.set("batch", std::int64_t{168});
  REQUIRE(lattice.point_of(between));
  const double nearest = axis.numbers[(*lattice.point_of(between))[0]];
  CHECK(std::abs(nearest - 168) <= 16);
}

TEST_CASE("real ranges have a grid, and a configuration between rounds to it", "[space]") {
  const auto space = make_space({with_default(reals("rate", 0.001, 1, true), 0.0123), integers("n", 1, 3)});
  Lattice lattice(space);
  CHECK(lattice.axis(0).levels == Lattice::kRealSpread + 1);
  const auto point = lattice.point_of(space.default_configuration());
  REQUIRE(point);
  CHECK(lattice.configuration(*point) == space.default_configuration());
  Random random(3);
  std::vector<Level> drawn(2);
  for (int i = 0; i < 100; ++i) {
    REQUIRE(lattice.sample(random, drawn));
    CHECK(space.contains(lattice.configuration(drawn)));
  }
}

TEST_CASE("a configuration of another space has no point", "[space]") {
  const auto space = make_space({integers("a", 0, 3)});
  const Lattice lattice(space);
  CHECK_FALSE(lattice.point_of(Configuration()));
  CHECK_FALSE(lattice.point_of(Configuration({{"a", std::int64_t{4}}})));
  CHECK_FALSE(lattice.point_of(Configuration({{"a", std::int64_t{1}}, {"b", true}})));
}

}  // namespace nocturne::space
