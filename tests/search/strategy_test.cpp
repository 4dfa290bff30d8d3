#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <map>
#include <set>

#include "search/asked_configurations.hpp"
#include "search/exhaustive.hpp"
#include "search/local_search.hpp"
#include "search/pruned_search.hpp"
#include "search/random_search.hpp"
#include "search/registry.hpp"
#include "tests/search/told.hpp"
#include "tests/space/build.hpp"
#include "tests/space/random_space.hpp"

namespace nocturne::search {

using namespace space::test;
using space::Configuration;
using space::Space;
using space::Trial;
using test::told;

namespace {

std::unique_ptr<Strategy> strategy(std::string_view name, const Space& space, std::uint64_t seed) {
  return make_strategy(name, space, {.seed = seed}).value();
}

/// A made-up time that depends on every value; every seventh configuration fails.
std::optional<double> made_up(const Configuration& configuration) {
  const auto hash = std::stoull(configuration.identity().substr(0, 8), nullptr, 16);
  if (hash % 7 == 0) return std::nullopt;
  return 1 + static_cast<double>(hash % 1000);
}

/// Runs a campaign and gives everything that was asked, the default first.
std::vector<std::string> campaign(const Space& space, std::string_view name, std::uint64_t seed, std::size_t trials,
                                  std::size_t batch = 1) {
  const auto search = strategy(name, space, seed);
  std::vector<std::string> asked = {space.default_configuration().canonical()};
  search->tell(std::vector{told(space.default_configuration(), made_up(space.default_configuration()))});
  while (asked.size() < trials) {
    const auto proposals = search->ask(batch);
    if (proposals.empty()) break;
    CHECK(proposals.size() <= batch);
    std::vector<Trial> finished;
    for (const auto& each : proposals) {
      const auto& configuration = each.configuration;
      CHECK(space.contains(configuration));
      asked.push_back(configuration.canonical());
      finished.push_back(told(configuration, made_up(configuration)));
    }
    search->tell(finished);
  }
  return asked;
}

/// Values of n parameters of ten values with a single valley at 7, each step counts.
Space bowl(int parameters) {
  std::vector<space::ParameterSpec> specs;
  for (int i = 0; i < parameters; ++i) specs.push_back(integers(fmt::format("p{}", i), 0, 9));
  return make_space(specs);
}

double depth(const Configuration& configuration) {
  double sum = 1;
  for (const auto& [name, value] : configuration.values())
    sum += std::abs(static_cast<double>(std::get<std::int64_t>(value)) - 7);
  return sum;
}

}  // namespace

TEST_CASE("every strategy asks valid configurations, none twice, and all of a small space", "[search]") {
  std::uint64_t seed = 300;
  for (int round = 0; round < 12; ++round) {
    Description description;
    const auto space = random_space(seed, description);
    const auto valid = valid_by_brute_force(space, description);
    if (valid.size() > 300) continue;
    for (const auto& entry : strategies()) {
      for (const std::size_t batch : {std::size_t{1}, std::size_t{5}}) {
        INFO(entry.name << " in batches of " << batch << " in " << space.to_json().dump());
        const auto asked = campaign(space, entry.name, seed, 10'000, batch);
        CHECK(asked.size() == valid.size());
        CHECK(std::set<std::string>(asked.begin(), asked.end()) == valid);
      }
    }
  }
}

TEST_CASE("same seed, same tells, same asks; another seed, others", "[search]") {
  const auto space = bowl(6);
  for (const auto& entry : strategies()) {
    INFO(entry.name);
    CHECK(campaign(space, entry.name, 7, 60) == campaign(space, entry.name, 7, 60));
    CHECK(campaign(space, entry.name, 7, 60, 3) == campaign(space, entry.name, 7, 60, 3));
    if (entry.name != "exhaustive") CHECK(campaign(space, entry.name, 7, 60) != campaign(space, entry.name, 8, 60));
  }
}

TEST_CASE("no strategy proposes what is pending, whoever asked for it", "[search]") {
  const auto space = make_space({integers("n", 0, 99)});
  std::vector<Configuration> pending;
  for (const std::int64_t n : {3, 8, 90}) {
    pending.emplace_back();
    pending.back().set("n", n);
  }
  for (const auto& entry : strategies()) {
    INFO(entry.name);
    const auto search = strategy(entry.name, space, 7);
    search->tell(std::vector{told(space.default_configuration(), 1.0)});
    search->mark_pending(pending);
    const auto proposals = search->ask(200);
    CHECK(proposals.size() == 96);  // without these and the default
    for (const auto& each : proposals) CHECK(std::ranges::find(pending, each.configuration) == pending.end());
  }
}

TEST_CASE("an unknown strategy is named with the nearest and all others", "[search]") {
  const auto space = bowl(1);
  const auto made = make_strategy("exhastive", space, {});
  REQUIRE_FALSE(made.has_value());
  std::string names;
  for (const auto& entry : strategies()) names += (names.empty() ? "" : ", ") + std::string(entry.name);
  CHECK(names.starts_with("auto, model, random, exhaustive, local, "));
  CHECK(made.error() == "unknown strategy 'exhastive', did you mean 'exhaustive'? (there are: " + names + ")");
}

TEST_CASE("auto walks through a small space and searches a large one", "[search]") {
  const auto small = make_space({integers("n", 0, 63)});
  const auto large = make_space({integers("n", 0, 64)});
  CHECK(dynamic_cast<Exhaustive*>(strategy("auto", small, 1).get()) != nullptr);
  CHECK(dynamic_cast<PrunedSearch*>(strategy("auto", large, 1).get()) != nullptr);
}

TEST_CASE("the rest of a nearly exhausted space is drawn uniformly", "[search]") {
  const auto space = make_space({integers("n", 0, 999)});
  std::map<std::string, int> hits;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    AskedConfigurations asked;
    for (std::int64_t n = 0; n < 997; ++n) {
      Configuration configuration;
      configuration.set("n", n);
      asked.insert(configuration);
    }
    space::Random random(seed);
    ++hits[asked.sample_other(space, random)->canonical()];
  }
  REQUIRE(hits.size() == 3);
  for (const auto& [text, count] : hits) CHECK(std::abs(count - 100) < 45);
}

TEST_CASE("where chance finds nothing, a space that is too large to be walked through has nothing left", "[search]") {
  const auto space = make_space({with_default(integers("a", 1, 2'000'000'000), std::int64_t{1}),
                                 with_default(integers("b", 1, 2'000'000'000), std::int64_t{1})},
                                {require_that("a + b == 2")});
  AskedConfigurations asked;
  asked.insert(space.default_configuration());
  space::Random random(1);
  CHECK_FALSE(asked.sample_other(space, random));
}

TEST_CASE("random search does not depend on what it is told, but for what it skips", "[search]") {
  const auto space = bowl(4);
  RandomSearch one(space, 5);
  RandomSearch other(space, 5);
  const auto first = one.ask(3);
  CHECK(first == other.ask(3));
  other.tell(std::vector{told(first[0].configuration, 0.1)});
  CHECK(one.ask(3) == other.ask(3));
}

TEST_CASE("an ask draws from its own number, however many were proposed before", "[search]") {
  const auto space = bowl(12);  // so large that no draw repeats
  RandomSearch one(space, 5);
  RandomSearch other(space, 5);
  CHECK(one.ask(1)[0] == other.ask(4)[0]);
  CHECK(one.ask(2) == other.ask(2));
}

TEST_CASE("exhaustive keeps the order of the stages", "[search]") {
  auto level = integers("level", 1, 2);
  level.stage = space::Stage::Build;
  const auto space = make_space({integers("threads", 1, 2), level});
  const auto asked = campaign(space, "exhaustive", 1, 10);
  CHECK(asked == std::vector<std::string>{R"({"level":1,"threads":1})", R"({"level":1,"threads":2})",
                                          R"({"level":2,"threads":1})", R"({"level":2,"threads":2})"});
}

TEST_CASE("local search reaches the bottom of a bowl", "[search]") {
  const auto space = bowl(4);
  for (const auto improvement : {Improvement::First, Improvement::Best}) {
    LocalSearch search(space, {.seed = 3, .improvement = improvement});
    search.tell(std::vector{told(space.default_configuration(), depth(space.default_configuration()))});
    double best = depth(space.default_configuration());
    int trials = 0;
    while (best > 1 && trials < 400) {
      const auto next = search.ask(1);
      REQUIRE(next.size() == 1);
      best = std::min(best, depth(next[0].configuration));
      search.tell(std::vector{told(next[0].configuration, depth(next[0].configuration))});
      ++trials;
    }
    CHECK(best == 1);
    CHECK(trials < 300);  // of 10 000 configurations
    CHECK(search.descents() == 1);
  }
}

TEST_CASE("the first proposals of local search are neighbours of the default", "[search]") {
  const auto space = bowl(3);
  LocalSearch search(space, {.seed = 1});
  search.tell(std::vector{told(space.default_configuration(), 5.0)});
  const auto near = space.neighbours(space.default_configuration(), space::Reach::Adjacent);
  for (const auto& each : search.ask(3)) CHECK(std::ranges::find(near, each.configuration) != near.end());
}

TEST_CASE("local search restarts from a local optimum and from a failed default", "[search]") {
  const auto space = bowl(2);
  LocalSearch flat(space, {.seed = 1});
  flat.tell(std::vector{told(space.default_configuration(), 5.0)});
  for (int i = 0; i < 60; ++i)
    for (const auto& each : flat.ask(1)) flat.tell(std::vector{told(each.configuration, 5.0)});
  CHECK(flat.descents() > 1);

  LocalSearch failed(space, {.seed = 1});
  failed.tell(std::vector{told(space.default_configuration(), std::nullopt)});
  CHECK(failed.ask(1).size() == 1);
  CHECK(failed.descents() == 2);
}

TEST_CASE("a trial told again replaces its estimate", "[search]") {
  const auto space = bowl(3);
  LocalSearch search(space, {.seed = 2});
  search.tell(std::vector{told(space.default_configuration(), 5.0)});
  const auto once_fast = search.ask(1)[0].configuration;
  search.tell(std::vector{told(once_fast, 1.0)});   // a low measurement moves the centre there
  search.tell(std::vector{told(once_fast, 50.0)});  // measured again: it was between-process spread
  const auto near = space.neighbours(space.default_configuration(), space::Reach::All);
  for (const auto& each : search.ask(5)) CHECK(std::ranges::find(near, each.configuration) != near.end());
}

TEST_CASE("local search goes on while trials are out", "[search]") {
  const auto space = bowl(2);
  LocalSearch search(space, {.seed = 2});
  search.tell(std::vector{told(space.default_configuration(), 5.0)});
  std::set<std::string> asked;
  for (int i = 0; i < 99; ++i) {
    const auto next = search.ask(1);
    REQUIRE(next.size() == 1);
    CHECK(asked.insert(next[0].configuration.canonical()).second);
  }
  CHECK(search.ask(1).empty());
}

}  // namespace nocturne::search
