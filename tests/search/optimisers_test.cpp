#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <set>
#include <thread>

#include "search/genetic.hpp"
#include "search/nlopt_search.hpp"
#include "search/registry.hpp"
#include "tests/search/told.hpp"
#include "tests/space/build.hpp"

namespace nocturne::search {

using namespace space::test;
using space::Configuration;
using space::Space;
using space::Trial;
using test::told;

namespace {

constexpr std::array kMethods = {NloptMethod::Cobyla, NloptMethod::NelderMead, NloptMethod::Sbplx,
                                 NloptMethod::Crs,    NloptMethod::Direct,     NloptMethod::Esch};

/// n parameters of twenty values, with one of three names or without; a valley that is not where the default is.
Space valley(int parameters, bool names = true) {
  std::vector<space::ParameterSpec> specs;
  if (names) specs.push_back(choices("kind", {std::string("a"), std::string("b"), std::string("c")}));
  for (int i = 0; i < parameters; ++i) specs.push_back(integers(fmt::format("p{}", i), 0, 19));
  return make_space(specs);
}

double seconds(const Configuration& configuration) {
  double squares = 0;
  double name = 1;
  for (const auto& [key, value] : configuration.values())
    if (const auto* number = std::get_if<std::int64_t>(&value))
      squares += std::pow((static_cast<double>(*number) - 13) / 10, 2);
    else
      name = value == space::Value(std::string("b")) ? 1 : 1.5;
  return name * std::exp(squares);
}

double best_of(Strategy& search, const Space& space, int trials) {
  double best = seconds(space.default_configuration());
  search.tell(std::vector{told(space.default_configuration(), best)});
  for (int i = 1; i < trials; ++i) {
    const auto next = search.ask(1);
    REQUIRE(next.size() == 1);
    best = std::min(best, seconds(next[0].configuration));
    search.tell(std::vector{told(next[0].configuration, seconds(next[0].configuration))});
  }
  return best;
}

/// Geometric mean of the best of 100 trials over ten seeds.
double typical_best(std::string_view name, const Space& space) {
  double sum = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const auto search = make_strategy(name, space, {.seed = seed});
    sum += std::log(best_of(**search, space, 100));
  }
  return std::exp(sum / 10);
}

/// Runs on any thread: without assertions, which Catch2 counts without a lock.
std::vector<std::string> exchanges_with(NloptMethod method, const Space& space) {
  NloptSearch search(space, {.seed = 4, .method = method});
  search.tell(std::vector{told(space.default_configuration(), seconds(space.default_configuration()))});
  std::vector<std::string> asked;
  for (int i = 0; i < 80; ++i) {
    const auto next = search.ask(1);
    if (next.empty()) break;
    asked.push_back(next[0].configuration.canonical());
    search.tell(std::vector{told(next[0].configuration, seconds(next[0].configuration))});
  }
  return asked;
}

}  // namespace

TEST_CASE("genetic search and NLopt's methods beat random search in a valley", "[search]") {
  const auto space = valley(5, false);  // numbers only: a simplex or a plane makes little of names
  const double random = typical_best("random", space);
  for (const auto& entry : strategies()) {
    if (entry.name != "genetic" && !entry.name.starts_with("nlopt-")) continue;
    const double found = typical_best(entry.name, space);
    INFO(entry.name << ": " << found << ", random: " << random);
    CHECK(std::log(found) < 0.9 * std::log(random));
  }
}

TEST_CASE("a genetic child has only values of its parents, but for one step of mutation", "[search]") {
  const auto space = valley(3);
  Genetic search(space, {.seed = 1, .population = 2, .mutation = 0});
  Configuration low = space.default_configuration();
  Configuration high = low;
  for (int i = 0; i < 3; ++i) high.set(fmt::format("p{}", i), std::int64_t{19});
  search.tell(std::vector{told(low, 1.0), told(high, 1.1)});
  for (const auto& each : search.ask(4)) {
    int strange = 0;
    for (int i = 0; i < 3; ++i) {
      const auto value = std::get<std::int64_t>(*each.configuration.find(fmt::format("p{}", i)));
      strange += value != 0 && value != 19;
    }
    CHECK(strange <= 1);
  }
}

TEST_CASE("genetic search forgets a parent that turns out to fail", "[search]") {
  const auto space = valley(2);
  Genetic search(space, {.seed = 1, .population = 2, .mutation = 0});
  Configuration once_fast = space.default_configuration();
  once_fast.set("p0", std::int64_t{19});
  once_fast.set("p1", std::int64_t{19});
  Configuration other = space.default_configuration();
  other.set("p0", std::int64_t{1});
  search.tell(std::vector{told(space.default_configuration(), 2.0), told(other, 3.0), told(once_fast, 1.0)});
  search.tell(std::vector{told(once_fast, std::nullopt)});
  for (const auto& each : search.ask(3)) CHECK(std::get<std::int64_t>(*each.configuration.find("p1")) < 19);
}

TEST_CASE("an NLopt run does not depend on the thread, nor on other runs beside it", "[search]") {
  const auto space = valley(3);
  for (const auto method : kMethods) {
    const auto alone = exchanges_with(method, space);
    CHECK(alone.size() == 80);
    std::vector<std::vector<std::string>> beside(2);
    {
      std::jthread one([&] { beside[0] = exchanges_with(method, space); });
      std::jthread two([&] { beside[1] = exchanges_with(method, space); });
    }
    CHECK(beside[0] == alone);
    CHECK(beside[1] == alone);
  }
}

TEST_CASE("an NLopt run asks where the method wants to go, again and again until it converges", "[search]") {
  const auto space = valley(3);
  NloptSearch search(space, {.seed = 1, .method = NloptMethod::Sbplx});
  (void)best_of(search, space, 25);
  CHECK(search.runs() == 1);
  NloptSearch longer(space, {.seed = 1, .method = NloptMethod::Sbplx});
  (void)best_of(longer, space, 300);
  CHECK(longer.runs() > 1);
}

TEST_CASE("NLopt's methods repair what constraints forbid", "[search]") {
  std::vector<space::ParameterSpec> specs;
  for (int i = 0; i < 4; ++i) specs.push_back(integers(fmt::format("p{}", i), 0, 19));
  const auto space = make_space(specs, {require_that("(p0 + p1 + p2 + p3) % 7 == 0"), require_that("p0 <= p1")});
  for (const auto method : kMethods) {
    NloptSearch search(space, {.seed = 2, .method = method});
    search.tell(std::vector{told(space.default_configuration(), seconds(space.default_configuration()))});
    for (int i = 0; i < 60; ++i) {
      const auto next = search.ask(1);
      REQUIRE(next.size() == 1);
      CHECK(space.contains(next[0].configuration));
      // Failures, too, must not stop it.
      const auto value = i % 3 == 0 ? std::nullopt : std::optional(seconds(next[0].configuration));
      search.tell(std::vector{told(next[0].configuration, value)});
    }
  }
}

TEST_CASE("NLopt's methods go on while trials are out, and are not confused by a better estimate", "[search]") {
  const auto space = valley(2);
  for (const auto method : kMethods) {
    NloptSearch search(space, {.seed = 2, .method = method});
    search.tell(std::vector{told(space.default_configuration(), seconds(space.default_configuration()))});
    std::set<std::string> asked;
    std::vector<Configuration> out;
    for (int i = 0; i < 40; ++i) {
      for (const auto& each : search.ask(3)) {
        CHECK(asked.insert(each.configuration.canonical()).second);
        out.push_back(each.configuration);
      }
      // The older half comes back, the first one a second time with another value.
      std::vector<Trial> finished;
      for (std::size_t k = 0; k < out.size() / 2; ++k) finished.push_back(told(out[k], seconds(out[k])));
      if (!finished.empty()) finished.push_back(told(out[0], 1.01 * seconds(out[0])));
      out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(out.size() / 2));
      search.tell(finished);
    }
    CHECK(asked.size() == 120);
  }
}

}  // namespace nocturne::search
