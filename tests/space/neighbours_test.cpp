#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <set>

#include "tests/space/build.hpp"
#include "tests/space/random_space.hpp"

namespace nocturne::space {

using namespace test;

namespace {
std::set<std::string> texts(const std::vector<Configuration>& all) {
  std::set<std::string> result;
  for (const auto& each : all) result.insert(each.canonical());
  return result;
}
}  // namespace

TEST_CASE("neighbours differ in one parameter, near or far", "[neighbours]") {
  const auto space = make_space({with_default(integers("n", 1, 5), std::int64_t{3}),
                                 choices("c", {std::string("x"), std::string("y"), std::string("z")})});
  const auto& centre = space.default_configuration();
  CHECK(texts(space.neighbours(centre, Reach::Adjacent)) ==
        std::set<std::string>{R"({"c":"x","n":2})", R"({"c":"x","n":4})", R"({"c":"y","n":3})", R"({"c":"z","n":3})"});
  CHECK(space.neighbours(centre, Reach::All).size() == 6);
}

TEST_CASE("a change activates with defaults and deactivates", "[neighbours]") {
  const auto space = make_space({boolean("on"), with_default(integers("n", 1, 4, "on"), std::int64_t{2})});
  const auto activated = space.neighbours(space.default_configuration(), Reach::Adjacent);
  REQUIRE(texts(activated) == std::set<std::string>{R"({"n":2,"on":true})"});
  CHECK(texts(space.neighbours(activated[0], Reach::Adjacent)) ==
        std::set<std::string>{R"({"on":false})", R"({"n":1,"on":true})", R"({"n":3,"on":true})"});
}

TEST_CASE("invalid neighbours are left out, invalid centres have none", "[neighbours]") {
  const auto space = make_space({integers("n", 1, 5)}, {require_that("n != 2")});
  CHECK(space.neighbours(space.default_configuration(), Reach::Adjacent).empty());
  CHECK(space.neighbours(space.default_configuration(), Reach::All).size() == 3);
  Configuration wrong;
  wrong.set("n", std::int64_t{17});
  CHECK(space.neighbours(wrong, Reach::All).empty());
}

TEST_CASE("neighbours of a real range are steps of a twentieth or a grid", "[neighbours]") {
  const auto space = make_space({with_default(reals("x", 0, 10), 5.0)});
  CHECK(texts(space.neighbours(space.default_configuration(), Reach::Adjacent)) ==
        std::set<std::string>{R"({"x":4.5})", R"({"x":5.5})"});
  CHECK(space.neighbours(space.default_configuration(), Reach::All).size() == 20);
}

TEST_CASE("long integer ranges have a bounded number of far neighbours", "[neighbours]") {
  const auto space = make_space({with_default(integers("n", 0, 4'000'000'000'000'000'000), std::int64_t{7})});
  const auto all = space.neighbours(space.default_configuration(), Reach::All);
  CHECK(all.size() <= 66);
  CHECK(all.size() >= 64);
  CHECK(texts(all).contains(R"({"n":4000000000000000000})"));
  CHECK(texts(all).contains(R"({"n":8})"));
}

TEST_CASE("all neighbours in random spaces are valid and others", "[neighbours]") {
  std::uint64_t seed = 9000;
  for (int round = 0; round < 60; ++round) {
    Description description;
    const auto space = random_space(seed, description);
    Random random(seed);
    const auto centre = space.sample(random).value();
    const auto all = space.neighbours(centre, Reach::All);
    CHECK(texts(all).size() == all.size());
    for (const auto& each : all) {
      CHECK(space.contains(each));
      CHECK_FALSE(each == centre);
    }
    for (const auto& near : space.neighbours(centre, Reach::Adjacent)) CHECK(std::ranges::find(all, near) != all.end());
  }
}

}  // namespace nocturne::space
