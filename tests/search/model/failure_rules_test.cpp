#include "search/model/failure_rules.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <set>

#include "search/model/feasibility.hpp"
#include "tests/space/build.hpp"

namespace nocturne::search::model {

using namespace space::test;
using Relation = FailureRules::Relation;

namespace {

space::Space five() {
  return make_space({choices("allocator", {std::string("a"), std::string("b"), std::string("c")}), boolean("pages"),
                     integers("threads", 1, 8), choices("layout", {std::string("x"), std::string("y")}),
                     integers("batch", 1, 6)});
}

using Fails = std::function<bool(space::Point)>;

/// Points drawn uniformly, each told once, until `failures` have failed.
std::size_t learn(FailureRules& rules, space::Lattice& lattice, const Fails& fails, std::size_t failures) {
  space::Random random(4);
  std::vector<space::Level> point(lattice.width());
  std::set<std::vector<space::Level>> seen;
  std::size_t failed = 0;
  while (failed < failures) {
    REQUIRE(lattice.sample(random, point));
    if (!seen.insert(point).second) continue;
    failed += fails(point);
    rules.tell(point, !fails(point));
  }
  return seen.size();
}

}  // namespace

TEST_CASE("the odds of a rule are those of its failures by chance, shared among those that explain them", "[model]") {
  const auto space = make_space({boolean("a"), boolean("b")});
  space::Lattice lattice(space);
  FailureRules rules(lattice);
  CHECK(rules.allows(std::vector<space::Level>{1, 1}) == 1);
  rules.tell(std::vector<space::Level>{0, 0}, true);
  rules.tell(std::vector<space::Level>{1, 0}, true);
  rules.tell(std::vector<space::Level>{1, 1}, false);
  // By hand: a=1, b=1 and both; a=1 has worked. Two are left, each with one failure, where of two others none failed:
  // odds 1/3 · (0.5 / 3)^-1 = 2 each.
  REQUIRE(rules.rules().size() == 2);
  CHECK(rules.rules()[0].blame == Catch::Approx(2.0 / 5));
  CHECK(rules.allows(std::vector<space::Level>{0, 1}) == Catch::Approx(1 - 2.0 / 5));
  // It meets both, and one of them it is, or chance: (2 + 2) / 5.
  CHECK(rules.allows(std::vector<space::Level>{1, 1}) == Catch::Approx(1 - 4.0 / 5));
  rules.tell(std::vector<space::Level>{0, 1}, true);  // b=1 is refuted
  REQUIRE(rules.rules().size() == 1);
  CHECK(rules.allows(std::vector<space::Level>{0, 1}) == 1);
}

TEST_CASE("a value, a threshold and two values together are found from a few failures", "[model]") {
  const auto space = five();
  space::Lattice lattice(space);
  const Fails value = [](space::Point p) { return p[0] == 2; };
  const Fails threshold = [](space::Point p) { return p[4] >= 3; };
  const Fails together = [](space::Point p) { return p[0] == 2 && p[1] == 1; };
  const Fails corner = [](space::Point p) { return p[0] == 1 && p[4] >= 4; };
  for (const auto& fails : {value, threshold, together, corner}) {
    FailureRules rules(lattice);
    learn(rules, lattice, fails, 8);
    space::Random random(9);
    std::vector<space::Level> point(5);
    for (int i = 0; i < 200; ++i) {
      REQUIRE(lattice.sample(random, point));
      if (fails(point))
        CHECK(rules.allows(point) < 0.6);
      else
        CHECK(rules.allows(point) > 0.3);
    }
  }
}

TEST_CASE("what always fails is forbidden, however many ways there are to describe it", "[model]") {
  // 'execution' is there for paddle alone: "paddle and bf16" and "execution and bf16" explain the same failures.
  const auto space = make_space(
      {choices("framework", {std::string("ours"), std::string("paddle"), std::string("jax")}),
       choices("execution", {std::string("dynamic"), std::string("static")}, "framework == 'paddle'"), boolean("bf16"),
       integers("batch", 1, 6), choices("allocator", {std::string("a"), std::string("b"), std::string("c")})});
  space::Lattice lattice(space);
  Feasibility feasibility(lattice);
  space::Random random(4);
  std::vector<space::Level> point(lattice.width());
  const Fails fails = [](space::Point p) { return p[0] == 1 && p[2] == 1; };
  std::set<std::vector<space::Level>> seen;
  std::size_t failed = 0;
  while (failed < 8) {
    REQUIRE(lattice.sample(random, point));
    if (!seen.insert(point).second) continue;
    failed += fails(point);
    feasibility.tell(point, !fails(point));
  }
  for (int i = 0; i < 200; ++i) {
    REQUIRE(lattice.sample(random, point));
    CHECK(feasibility.forbids(point) == fails(point));
  }
}

TEST_CASE("failures at random make no rule", "[model]") {
  const auto space = five();
  space::Lattice lattice(space);
  FailureRules rules(lattice);
  const Fails chance = [](space::Point p) { return space::hash_of(p) % 5 < 2; };
  learn(rules, lattice, chance, 60);
  space::Random random(9);
  std::vector<space::Level> point(5);
  double sum = 0;
  for (int i = 0; i < 300; ++i) {
    REQUIRE(lattice.sample(random, point));
    sum += rules.allows(point);
  }
  CHECK(sum / 300 > 0.9);
}

TEST_CASE("a rule is a factor of P(works), and goes when its failure was none", "[model]") {
  const auto space = five();
  space::Lattice lattice(space);
  Feasibility feasibility(lattice);
  space::Random random(4);
  std::vector<space::Level> point(5), failed;
  for (int i = 0; i < 60; ++i) {
    REQUIRE(lattice.sample(random, point));
    const bool fails = point[0] == 2 && point[1] == 1;
    if (fails) failed = point;
    feasibility.tell(point, !fails);
  }
  const std::vector<space::Level> far = {2, 1, 0, 0, 0};
  const std::vector<space::Level> near = {2, 0, 0, 0, 0};
  CHECK(feasibility.probability(far) < 0.02);
  CHECK(feasibility.probability(near) > 0.5);
  CHECK(feasibility.rules().front().blame > 0.9);
  feasibility.tell(failed, true);
  CHECK(feasibility.probability(far) > 0.02);
}

}  // namespace nocturne::search::model
