#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <map>
#include <set>

#include "tests/space/build.hpp"
#include "tests/space/random_space.hpp"

namespace nocturne::space {

using namespace test;

namespace {

/// Chi-square statistic of draws against a uniform distribution over `valid`, in standard deviations from its mean.
double excess(const Space& space, const std::set<std::string>& valid, int draws_each, std::uint64_t seed) {
  std::map<std::string, int> hits;
  for (const auto& each : valid) hits[each] = 0;
  Random random(seed);
  const int draws = draws_each * static_cast<int>(valid.size());
  for (int i = 0; i < draws; ++i) {
    const auto drawn = space.sample(random);
    REQUIRE(drawn.has_value());
    const auto found = hits.find(drawn->canonical());
    REQUIRE(found != hits.end());
    ++found->second;
  }
  double statistic = 0;
  for (const auto& [text, count] : hits) statistic += (count - draws_each) * (count - draws_each) / double(draws_each);
  const double freedom = static_cast<double>(valid.size()) - 1;
  return freedom == 0 ? 0 : (statistic - freedom) / std::sqrt(2 * freedom);
}

std::vector<ParameterSpec> eight_of_ten(std::vector<std::string>& names) {
  std::vector<ParameterSpec> parameters;
  for (const auto* name : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
    names.emplace_back(name);
    parameters.push_back(integers(name, 1, 10));
  }
  return parameters;
}

}  // namespace

TEST_CASE("count, enumeration and numbering agree with trying everything", "[counting]") {
  std::uint64_t seed = 1000;
  int conditional = 0;
  int constrained = 0;
  for (int round = 0; round < 400; ++round) {
    Description description;
    const auto space = random_space(seed, description);
    INFO(space.to_json().dump());
    const auto valid = valid_by_brute_force(space, description);
    const auto size = space.count();
    REQUIRE(size.kind == Size::Kind::Exact);
    REQUIRE(size.count.to_text() == std::to_string(valid.size()));
    std::set<std::string> enumerated;
    space.for_each([&](const Configuration& each) {
      CHECK(enumerated.insert(each.canonical()).second);
      CHECK(space.contains(each));
      CHECK(space.normalise(each) == each);
      return true;
    });
    CHECK(enumerated == valid);
    std::set<std::string> numbered;
    for (std::uint64_t i = 0; i < valid.size(); ++i) numbered.insert(space.at(Count(i))->canonical());
    CHECK(numbered == valid);
    CHECK_FALSE(space.at(size.count).has_value());
    for (const auto& parameter : space.parameters()) conditional += parameter.is_conditional() ? 1 : 0;
    constrained += static_cast<int>(space.constraints().size());
  }
  CHECK(conditional > 100);  // the generator does what the test is about
  CHECK(constrained > 100);
}

TEST_CASE("samples are uniform over the valid configurations", "[counting]") {
  std::uint64_t seed = 5000;
  for (int round = 0; round < 25; ++round) {
    Description description;
    const auto space = random_space(seed, description);
    INFO(space.to_json().dump());
    const auto valid = valid_by_brute_force(space, description);
    CHECK(std::fabs(excess(space, valid, 40, seed)) < 5);
  }
}

TEST_CASE("conditional parameters do not outweigh those without", "[counting]") {
  // One configuration with mode 0, a hundred with mode 1: a draw by stages would take mode 0 half of the time.
  const auto space = make_space({integers("mode", 0, 1), integers("n", 1, 100, "mode == 1")});
  CHECK(space.count().to_text() == "101");
  Random random(1);
  int zeros = 0;
  for (int i = 0; i < 10'100; ++i) zeros += space.sample(random)->find("n") == nullptr ? 1 : 0;
  CHECK(zeros > 60);
  CHECK(zeros < 140);
}

TEST_CASE("a constraint that mentions an inactive parameter says nothing", "[counting]") {
  const auto space =
      make_space({boolean("on"), integers("n", 1, 4, "on"), integers("m", 1, 4)}, {require_that("n == m and m < 9")});
  CHECK(space.count().to_text() == "8");  // off: four m; on: four pairs
  const auto nested = make_space({boolean("on"), boolean("deep", "on"), boolean("deeper", "deep or not deep")});
  CHECK(nested.count().to_text() == "5");  // off; on with deep and deeper of two values each
}

TEST_CASE("a product over eight parameters takes few nodes", "[counting]") {
  std::vector<std::string> names;
  const auto space = make_space(eight_of_ten(names), {require_that("a * b * c * d * e * f * g * h <= 5000")});
  CHECK(space.cardinality().to_text() == "100000000");
  // Reference: dynamic programming over products.
  std::map<std::int64_t, std::int64_t> products = {{1, 1}};
  for (int i = 0; i < 8; ++i) {
    std::map<std::int64_t, std::int64_t> next;
    for (const auto& [product, count] : products) {
      for (std::int64_t v = 1; v <= 10; ++v)
        if (product * v <= 5000) next[product * v] += count;
    }
    products = std::move(next);
  }
  std::int64_t expected = 0;
  for (const auto& [product, count] : products) expected += count;
  CHECK(space.count().count.to_text() == std::to_string(expected));
  CHECK(space.effort().rejecting == 0);
  CHECK(space.effort().nodes < 20'000);  // all prefixes would be more than eleven million
}

TEST_CASE("independent parts are counted apart", "[counting]") {
  std::vector<ParameterSpec> parameters;
  std::vector<ConstraintSpec> constraints;
  for (int i = 0; i < 10; ++i) {
    const auto a = fmt::format("a{}", i);
    const auto b = fmt::format("b{}", i);
    parameters.push_back(integers(a, 1, 32));
    parameters.push_back(integers(b, 1, 32));
    constraints.push_back(require_that(fmt::format("{} <= {}", a, b)));
  }
  const auto space = make_space(parameters, constraints);
  CHECK(space.effort().components == 10);
  CHECK(space.count().to_text() == "1683988903155628637813735424");  // 528 to the tenth power
  Random random(1);
  for (int i = 0; i < 100; ++i) CHECK(space.contains(space.sample(random).value()));
}

TEST_CASE("what no diagram can hold is sampled by rejection and its count is an estimate", "[counting]") {
  // Sums with such weights have no two equal prefixes: nothing merges.
  std::vector<ParameterSpec> parameters;
  std::string sum = "0";
  for (int i = 0; i < 9; ++i) {
    parameters.push_back(with_default(integers(fmt::format("p{}", i), 0, 49), std::int64_t{0}));
    sum += fmt::format(" + p{} * {}", i, 1'000'003 + i * i * 7919 * 31 + i * 104'729);
  }
  const auto space = make_space(parameters, {require_that("(" + sum + ") % 2 == 0")});
  CHECK(space.effort().rejecting == 1);
  const auto size = space.count();
  CHECK(size.kind == Size::Kind::Estimate);
  const double half = std::pow(50.0, 9) / 2;
  CHECK(std::fabs(size.approximate - half) < 5 * size.standard_error);
  Random random(1);
  for (int i = 0; i < 100; ++i) CHECK(space.contains(space.sample(random).value()));
  CHECK_FALSE(space.at(Count(0)).has_value());
}

TEST_CASE("rejection keeps samples uniform", "[counting]") {
  // A constraint that reads a real range is always tested after drawing; this one holds always where n is small.
  const auto space = make_space({reals("x", 0, 1), integers("n", 1, 4), integers("m", 1, 3, "n > 2")},
                                {require_that("x <= 2 - n / 4")});
  CHECK(space.count().kind == Size::Kind::Infinite);
  CHECK(space.effort().rejecting == 1);
  Random random(3);
  std::map<std::string, int> hits;
  const int draws = 70'000;
  for (int i = 0; i < draws; ++i) {
    auto drawn = space.sample(random).value();
    REQUIRE(space.contains(drawn));
    drawn.erase("x");
    ++hits[drawn.canonical()];
  }
  REQUIRE(hits.size() == 8);
  for (const auto& [text, count] : hits) {
    INFO(text);
    CHECK(std::fabs(count - draws / 8.0) < 5 * std::sqrt(draws / 8.0));
  }
}

TEST_CASE("a space of 10^15 combinations and more is sampled without a list", "[counting]") {
  std::vector<ParameterSpec> parameters;
  for (int i = 0; i < 10; ++i) parameters.push_back(integers(fmt::format("p{}", i), 1, 32));
  std::vector<ConstraintSpec> constraints;
  for (int i = 0; i + 1 < 10; ++i)
    constraints.push_back(require_that(fmt::format("p{0} % 3 != p{1} % 3 or p{0} == 1", i, i + 1)));
  const auto space = make_space(parameters, constraints);
  CHECK(space.cardinality().approximate > 1e15);
  CHECK(space.count().kind == Size::Kind::Exact);
  CHECK(space.effort().nodes < 1000);
  Random random(1);
  for (int i = 0; i < 100; ++i) CHECK(space.contains(space.sample(random).value()));
}

TEST_CASE("ranges of astronomical length cost nothing where nothing reads them", "[counting]") {
  const auto space =
      make_space({boolean("on"), integers("seed", 0, 1'000'000'000'000, "on"), integers("big", 0, 2'000'000)},
                 {require_that("big % 2 == 0")});
  CHECK(space.effort().rejecting == 1);  // two million values are not tried one by one
  CHECK(space.effort().edges < 10);
  Random random(1);
  CHECK(space.contains(space.sample(random).value()));
}

TEST_CASE("enumeration stops when told and changes expensive stages last", "[counting]") {
  auto build = integers("level", 1, 2);
  build.stage = Stage::Build;
  const auto space = make_space({integers("threads", 1, 3), build});
  std::string order;
  space.for_each([&](const Configuration& each) {
    order += to_text(*each.find("level")) + to_text(*each.find("threads")) + " ";
    return true;
  });
  CHECK(order == "11 12 13 21 22 23 ");
  int visited = 0;
  CHECK_FALSE(space.for_each([&](const Configuration&) { return ++visited < 2; }));
  CHECK(visited == 2);
  auto all = space.enumerate();
  for (int i = 0; i < 6; ++i) CHECK(all.next().has_value());
  CHECK_FALSE(all.next().has_value());
  CHECK_FALSE(all.next().has_value());
}

TEST_CASE("a real range is enumerated on a grid and makes a space infinite", "[counting]") {
  const auto space = make_space({reals("rate", 0.001, 1000, true)});
  CHECK(space.count().to_text() == "infinite");
  std::vector<double> rates;
  space.for_each([&](const Configuration& each) {
    rates.push_back(std::get<double>(*each.find("rate")));
    return true;
  });
  REQUIRE(rates.size() == Space::kRealGrid);
  CHECK(rates.front() == 0.001);
  CHECK(rates[5] == 1.0);
  CHECK(rates.back() == 1000);
}

}  // namespace nocturne::space
