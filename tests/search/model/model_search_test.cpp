#include "search/model_search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <optional>
#include <set>

#include "search/random_search.hpp"
#include "tests/search/told.hpp"
#include "tests/space/build.hpp"
#include "tests/space/random_space.hpp"

namespace nocturne::search {

using namespace space::test;
using space::Configuration;
using space::Space;
using test::told;

namespace {

double number(const Configuration& configuration, const std::string& name) {
  const auto* value = configuration.find(name);
  return value == nullptr                    ? 0
         : space::Value(*value).index() == 2 ? std::get<double>(*value)
                                             : static_cast<double>(std::get<std::int64_t>(*value));
}

/// Six parameters of ten values; the best is 7 everywhere, and p0 and p1 want to be equal.
Space bowl() {
  std::vector<space::ParameterSpec> specs;
  for (int i = 0; i < 6; ++i) specs.push_back(integers(fmt::format("p{}", i), 0, 9));
  return make_space(specs);
}

double depth(const Configuration& configuration) {
  double sum = 1 + 0.5 * std::abs(number(configuration, "p0") - number(configuration, "p1"));
  for (int i = 0; i < 6; ++i) sum += std::abs(number(configuration, fmt::format("p{}", i)) - 7);
  return sum;
}

using Objective = std::optional<double> (*)(const Configuration&);

/// Asks and tells one by one; what was asked.
std::vector<Configuration> run(Strategy& strategy, Objective objective, std::size_t trials) {
  std::vector<Configuration> asked;
  while (asked.size() < trials) {
    const auto proposals = strategy.ask(1);
    if (proposals.empty()) break;
    asked.push_back(proposals[0].configuration);
    strategy.tell(std::vector{told(asked.back(), objective(asked.back()))});
  }
  return asked;
}

double best_of(const std::vector<Configuration>& asked) {
  double best = 1e9;
  for (const auto& each : asked) best = std::min(best, depth(each));
  return best;
}

std::optional<double> shallow(const Configuration& configuration) {
  return depth(configuration);
}

}  // namespace

TEST_CASE("model search finds the valley of a million in sixty trials, random search does not", "[model]") {
  const auto space = bowl();
  double model_sum = 0, random_sum = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    ModelSearch model(space, {.seed = seed});
    RandomSearch random(space, seed);
    model_sum += best_of(run(model, shallow, 60));
    random_sum += best_of(run(random, shallow, 60));
  }
  CHECK(model_sum / 5 < 2.5);
  CHECK(random_sum / 5 > 5);
}

TEST_CASE("model search resumed by repeating asks and tells goes on as if it had not stopped", "[model]") {
  const auto space = bowl();
  ModelSearch first(space, {.seed = 3}), resumed(space, {.seed = 3}), other(space, {.seed = 4});
  const auto asked = run(first, shallow, 40);
  for (std::size_t i = 0; i < 25; ++i) {
    REQUIRE(resumed.ask(1)[0].configuration == asked[i]);
    resumed.tell(std::vector{told(asked[i], depth(asked[i]))});
  }
  for (std::size_t i = 25; i < 40; ++i) {
    const auto proposals = resumed.ask(1);
    CHECK(proposals[0].configuration == asked[i]);
    resumed.tell(std::vector{told(asked[i], depth(asked[i]))});
  }
  CHECK(run(other, shallow, 40) != asked);
}

TEST_CASE("a search that knows what its machine could do first asks for the least that is possible", "[model]") {
  const auto space = bowl();
  const auto first_asked = [&](const Options& options) {
    ModelSearch search(space, options);
    Configuration middle;
    for (int i = 0; i < 6; ++i) middle.set(fmt::format("p{}", i), std::int64_t{4});
    search.tell(std::vector{told(middle, depth(middle))});
    const auto proposals = search.ask(2);
    REQUIRE(proposals.size() == 2);
    CHECK(proposals[0].configuration != proposals[1].configuration);
    return proposals;
  };
  Options options{.seed = 3};
  options.bound = {.parameters = {"p2"}, .seconds_an_example = [](const Configuration& configuration) {
                     return 1 + std::abs(number(configuration, "p2") - 9);
                   }};
  const auto bounded = first_asked(options);
  CHECK(number(bounded[0].configuration, "p2") == 9);
  CHECK(bounded[0].reason == "the least that the machine's peaks allow");
  CHECK(bounded[1].reason != bounded[0].reason);  // once: it is a bound, and no measurement
  CHECK(first_asked({.seed = 3})[0].reason == bounded[1].reason);
}

TEST_CASE("model search asks every configuration of a random space once, whatever fails", "[model]") {
  std::uint64_t seed = 900;
  for (int round = 0; round < 12; ++round) {
    Description description;
    const auto space = random_space(seed, description);
    const auto valid = valid_by_brute_force(space, description);
    ModelSearch search(space, {.seed = seed});
    const auto limit = std::min<std::size_t>(valid.size(), 150);
    const auto asked = run(
        search,
        [](const Configuration& configuration) -> std::optional<double> {
          const auto hash = std::stoull(configuration.identity().substr(0, 8), nullptr, 16);
          if (hash % 3 == 0) return std::nullopt;
          return 1 + static_cast<double>(hash % 1000);
        },
        limit);
    std::set<std::string> seen;
    for (const auto& each : asked) {
      CHECK(valid.contains(each.canonical()));
      CHECK(seen.insert(each.canonical()).second);
    }
    CHECK(seen.size() == limit);
    if (limit == valid.size()) CHECK(search.ask(1).empty());
  }
}

TEST_CASE("several proposals at once differ and leave out what is under way", "[model]") {
  const auto space = bowl();
  ModelSearch search(space, {.seed = 1});
  run(search, shallow, 15);
  std::set<std::string> seen;
  for (int batch = 0; batch < 3; ++batch) {  // nothing of it is told
    const auto proposals = search.ask(8);
    CHECK(proposals.size() == 8);
    for (const auto& each : proposals) CHECK(seen.insert(each.configuration.canonical()).second);
  }

  CHECK(search.times().size() == 15);
}

TEST_CASE("told of strangers, of nothing but failures, and again, model search goes on", "[model]") {
  const auto space = bowl();
  ModelSearch search(space, {.seed = 2});
  search.tell(std::vector{told(Configuration({{"unknown", true}}), 1.0)});
  const auto failing = run(search, [](const Configuration&) -> std::optional<double> { return std::nullopt; }, 20);
  CHECK(failing.size() == 20);
  // An estimate replaces the failure of its configuration, and is replaced itself.
  search.tell(std::vector{told(failing[0], 5.0)});
  search.tell(std::vector{told(failing[0], 7.0)});
  CHECK(search.times().size() == 1);
  CHECK(std::abs(search.times().log_value(0) - std::log(7.0)) < 1e-12);
  CHECK(search.feasibility().failures() == 19);
  CHECK(run(search, shallow, 10).size() == 10);
}

TEST_CASE("spaces of one parameter, real ranges and a million billion combinations are searched", "[model]") {
  const auto single = make_space({integers("p0", 0, 99)});
  ModelSearch alone(single, {.seed = 1});
  CHECK(run(
            alone, [](const Configuration& c) -> std::optional<double> { return 1 + std::abs(number(c, "p0") - 63); },
            100)
            .size() == 100);
  CHECK(alone.ask(1).empty());

  const auto real = make_space({reals("rate", 0.001, 10, true), integers("n", 1, 5)});
  ModelSearch smooth(real, {.seed = 1});
  const auto asked = run(
      smooth,
      [](const Configuration& c) -> std::optional<double> {
        return 1 + std::abs(std::log10(number(c, "rate"))) + number(c, "n");
      },
      60);
  double best = 1e9;
  for (const auto& each : asked) best = std::min(best, std::abs(std::log10(number(each, "rate"))) + number(each, "n"));
  CHECK(asked.size() == 60);
  CHECK(best < 1.15);

  std::vector<space::ParameterSpec> many;
  for (int i = 0; i < 15; ++i) many.push_back(integers(fmt::format("p{}", i), 0, 9));
  const auto huge = make_space(many);
  double sum = 0;  // one run may be good by chance
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    ModelSearch large(huge, {.seed = seed});
    const auto tried = run(large, shallow, 40);
    CHECK(tried.size() == 40);
    sum += best_of(tried);
  }
  CHECK(sum / 8 < 6);  // of 55, over six that matter and nine that do not
}

TEST_CASE("where preparing costs, model search stays with what is prepared unless another is worth it", "[model]") {
  auto framework = choices("framework", {std::string("a"), std::string("b"), std::string("c")});
  framework.stage = space::Stage::Environment;
  std::vector<space::ParameterSpec> specs = {framework};
  for (int i = 0; i < 6; ++i) specs.push_back(integers(fmt::format("p{}", i), 0, 9));
  const auto space = make_space(specs);
  const auto count_others = [&](double seconds) {
    Options options{.seed = 5};
    options.preparation_seconds = [seconds](const Configuration& c) {
      return *c.find("framework") == space::Value(std::string("a")) ? 0.0 : seconds;
    };
    ModelSearch search(space, options);
    std::size_t others = 0;
    for (int i = 0; i < 50; ++i) {
      const auto configuration = search.ask(1)[0].configuration;
      if (i >= 20 && *configuration.find("framework") != space::Value(std::string("a"))) ++others;
      auto trial = told(configuration, depth(configuration));
      trial.parts = space::Parts{.import = 1, .steady_step = 0.01};
      search.tell(std::vector{trial});
    }
    return others;
  };
  const auto expensive = count_others(1000);
  const auto free = count_others(0);
  CHECK(expensive * 3 < free);
}

TEST_CASE("where preparing costs, the start keeps the build of the first trial", "[model]") {
  auto compiler = choices("compiler", {std::string("a"), std::string("b"), std::string("c")});
  compiler.stage = space::Stage::Build;
  std::vector<space::ParameterSpec> specs = {compiler};
  for (int i = 0; i < 3; ++i) specs.push_back(integers(fmt::format("p{}", i), 0, 9));
  const auto space = make_space(specs);
  const auto compilers_of_start = [&](Options options) {
    ModelSearch search(space, options);
    search.tell(std::vector{told(space.default_configuration(), 3.0)});
    std::set<std::string> compilers;
    for (std::size_t i = 1; i < ModelSearch::kStart; ++i) {
      const auto next = search.ask(1)[0].configuration;
      compilers.insert(space::to_text(*next.find("compiler")));
      search.tell(std::vector{told(next, 3.0)});
    }
    return compilers.size();
  };
  CHECK(compilers_of_start({.seed = 5}) == 3);
  Options costly{.seed = 5};
  costly.preparation_seconds = [](const Configuration&) { return 40.0; };
  CHECK(compilers_of_start(costly) == 1);
}

TEST_CASE("what each process compiles waits until the start is over, and is then weighed against its seconds",
          "[model]") {
  auto compile = choices("compile", {std::string("script"), std::string("default"), std::string("most")});
  compile.stage = space::Stage::Compile;
  std::vector<space::ParameterSpec> specs = {compile};
  for (int i = 0; i < 6; ++i) specs.push_back(integers(fmt::format("p{}", i), 0, 9));
  const auto space = make_space(specs);
  const auto compiled_after = [&](double seconds) {
    ModelSearch search(space, {.seed = 5});
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < 40; ++i) {
      const auto configuration = i == 0 ? space.default_configuration() : search.ask(1)[0].configuration;
      const bool compiles = *configuration.find("compile") != space::Value(std::string("script"));
      if (compiles) numbers.push_back(i);
      auto trial = told(configuration, depth(configuration));
      trial.parts = space::Parts{.import = 1, .compile = compiles ? seconds : 0, .steady_step = 0.01};
      search.tell(std::vector{trial});
    }
    return numbers;
  };
  const auto free = compiled_after(0), costly = compiled_after(100);
  CHECK(free.front() >= ModelSearch::kStart);
  CHECK(costly.front() >= ModelSearch::kStart);  // tried all the same
  CHECK(costly.size() * 2 < free.size());
}

TEST_CASE("a start begins with ordinary points and ends in corners", "[model]") {
  const auto space = bowl();
  std::array<double, ModelSearch::kStart> ends{};  // of 20 searches and 6 parameters: how many are near an end
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    ModelSearch search(space, {.seed = seed});
    const auto started = run(search, shallow, ModelSearch::kStart);
    for (std::size_t i = 0; i < started.size(); ++i) {
      for (int p = 0; p < 6; ++p) {
        const double value = number(started[i], fmt::format("p{}", p));
        ends[i] += value <= 1 || value >= 8 ? 1 : 0;
      }
    }
  }
  INFO(fmt::format("of 120 values of each point the first or last two of ten: {}", fmt::join(ends, ", ")));
  CHECK(ends[0] < 30);  // the first is central; 48 by chance
  CHECK((ends[1] + ends[2] + ends[3]) / 3 < 76);
  CHECK((ends[4] + ends[5]) / 2 > 82);
}

TEST_CASE("a proposal says why", "[model]") {
  const auto space = bowl();
  ModelSearch search(space, {.seed = 1});
  CHECK(search.ask(1)[0].reason == "spread over the space");
  run(search, shallow, 20);
  CHECK(search.ask(1)[0].reason.starts_with("expected improvement "));
}

}  // namespace nocturne::search
