/// Searches that know earlier campaigns: what those are worth, and what they cost where they are wrong.

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <functional>

#include "search/history/prior.hpp"
#include "search/pruned_search.hpp"
#include "tests/search/told.hpp"
#include "tests/space/build.hpp"

namespace nocturne::search {

using namespace space::test;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using space::Configuration;
using space::Space;
using space::Trial;
using test::told;

namespace {

using Objective = std::function<double(const Configuration&)>;

double number(const Configuration& configuration, const std::string& name) {
  return static_cast<double>(std::get<std::int64_t>(*configuration.find(name)));
}

/// Five parameters of ten values.
Space bowl() {
  std::vector<space::ParameterSpec> specs;
  for (int i = 0; i < 5; ++i) specs.push_back(integers(fmt::format("p{}", i), 0, 9));
  return make_space(specs);
}

/// Seconds; the best is 7 everywhere, or at `valley`, and p0 and p1 want to be equal. Never the same for two, as times
/// are not.
double depth(const Configuration& configuration, double valley = 7) {
  double sum = 5 + 0.5 * std::abs(number(configuration, "p0") - number(configuration, "p1"));
  for (int i = 0; i < 5; ++i) sum += std::abs(number(configuration, fmt::format("p{}", i)) - valley);
  const auto digits = std::stoull(configuration.identity().substr(0, 8), nullptr, 16);
  return sum * (1 + 0.004 * static_cast<double>(digits) / 0x1p32);
}

std::vector<Trial> run(Strategy& strategy, const Objective& objective, std::size_t trials) {
  std::vector<Trial> finished;
  while (finished.size() < trials) {
    const auto proposals = strategy.ask(1);
    if (proposals.empty()) break;
    finished.push_back(told(proposals[0].configuration, objective(proposals[0].configuration)));
    finished.back().number = static_cast<std::int64_t>(finished.size() - 1);
    strategy.tell({&finished.back(), 1});
  }
  return finished;
}

History campaign(const Space& space, const Objective& objective, std::size_t trials, std::uint64_t seed, bool same) {
  ModelSearch search(space, {.seed = seed});
  return {.same_machine_and_workload = same, .trials = run(search, objective, trials), .name = "evening"};
}

double best_of(const std::vector<Trial>& trials, std::size_t first) {
  double best = 1e9;
  for (std::size_t i = 0; i < std::min(first, trials.size()); ++i) best = std::min(best, trials[i].estimate->value);
  return best;
}

/// Trials until one is within 2 % of the best there is, 5 to 5.02 s; `trials.size()` + 1 where none is.
std::size_t trials_to_best(const std::vector<Trial>& trials) {
  const auto found = std::ranges::find_if(trials, [](const Trial& each) { return each.estimate->value < 5 * 1.02; });
  return static_cast<std::size_t>(found - trials.begin()) + 1;
}

}  // namespace

TEST_CASE("a second campaign comes to the best in a fraction of the first one's trials", "[history]") {
  const auto space = bowl();
  const Objective objective = [](const Configuration& each) { return depth(each); };
  std::size_t with = 0, without = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const auto past = campaign(space, objective, 40, seed + 100, true);
    PrunedSearch first(space, {.seed = seed}), second(space, {.seed = seed, .history = {past}});
    without += trials_to_best(run(first, objective, 40));
    const auto again = run(second, objective, 40);
    with += trials_to_best(again);
    CHECK(second.models().prior().holds());
    CHECK(again[0].estimate->value == best_of(past.trials, 40));
  }
  INFO(with << " trials with history, " << without << " without");
  CHECK(3 * with < without);
}

TEST_CASE("a machine that is slower as a whole is told from one that changed", "[history]") {
  const auto space = bowl();
  const Objective then = [](const Configuration& each) { return depth(each); };
  const Objective slower = [](const Configuration& each) { return 1.15 * depth(each); };
  double offset = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    PrunedSearch search(space, {.seed = seed, .history = {campaign(space, then, 40, seed + 100, true)}});
    search.tell(std::vector{told(space.default_configuration(), slower(space.default_configuration()))});
    const auto trials = run(search, slower, 20);
    CHECK(search.models().prior().holds());
    CHECK(best_of(trials, 20) < 1.15 * 5 * 1.1);
    offset += search.models().prior().offset().mean / 4;
  }
  CHECK(offset == Approx(std::log(1.15)).margin(0.04));
}

TEST_CASE("a wrong past is noticed, said, and hardly costs anything", "[history]") {
  const auto space = bowl();
  const Objective objective = [](const Configuration& each) { return depth(each); };
  double with = 0, without = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    auto past = campaign(space, objective, 40, seed + 100, true);
    std::vector<double> values;
    for (const auto& each : past.trials) values.push_back(each.estimate->value);
    if (seed % 2 == 0) {  // what was fast is slow now
      const auto [least, most] = std::ranges::minmax(values);
      for (auto& each : values) each = std::exp(std::log(least) + std::log(most) - std::log(each));
    } else {  // nothing is as it was
      space::Random random(seed);
      for (std::size_t i = values.size(); i > 1; --i)
        std::swap(values[i - 1], values[static_cast<std::size_t>(random.below(std::uint64_t{i}))]);
    }
    for (std::size_t i = 0; i < values.size(); ++i) past.trials[i].estimate->value = values[i];
    std::vector<std::string> notes;
    PrunedSearch alone(space, {.seed = seed});
    PrunedSearch misled(space,
                        {.seed = seed, .history = {past}, .note = [&](const auto& each) { notes.push_back(each); }});
    without += best_of(run(alone, objective, 40), 40) / 6;
    with += best_of(run(misled, objective, 40), 40) / 6;
    REQUIRE(notes.size() == 1);
    CHECK_THAT(notes[0], ContainsSubstring("history"));
    CHECK(misled.models().prior().given_up() == notes[0]);
    CHECK_FALSE(misled.models().prior().holds());
    CHECK(misled.models().times().size() == 40);  // nothing of it is left
  }
  INFO(with << " s with a wrong past, " << without << " without");
  CHECK(with < 1.05 * without);
}

TEST_CASE("an order from elsewhere helps to begin, a reversed one does not mislead for long", "[history]") {
  const auto space = bowl();
  const Objective here = [](const Configuration& each) { return depth(each); };
  const Objective elsewhere = [](const Configuration& each) { return 3 * std::pow(depth(each, 6), 1.5); };
  const Objective opposite = [](const Configuration& each) { return 100 / depth(each); };
  double with = 0, without = 0, later = 0, misled = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    PrunedSearch alone(space, {.seed = seed});
    PrunedSearch guided(space, {.seed = seed, .history = {campaign(space, elsewhere, 40, seed + 100, false)}});
    PrunedSearch wrong(space, {.seed = seed, .history = {campaign(space, opposite, 40, seed + 100, false)}});
    const auto trials = run(alone, here, 40);
    without += best_of(trials, 6);
    later += best_of(trials, 40);
    with += best_of(run(guided, here, 10), 6);
    misled += best_of(run(wrong, here, 40), 40);
  }
  INFO(with << " s with the order, " << without << " without; " << misled << " and " << later << " after 40");
  CHECK(with < 0.75 * without);
  CHECK(misled < 1.1 * later);
}

TEST_CASE("where several orders speak, what all of them find fast comes first, and after three points the model",
          "[history]") {
  const auto space = bowl();
  const Objective objective = [](const Configuration& each) { return depth(each, 6); };
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Options options{.seed = seed};
    for (const double valley : {1.0, 7.0, 7.0}) {  // the first one is alone with its opinion
      const Objective there = [valley](const Configuration& each) { return depth(each, valley); };
      options.history.push_back(campaign(space, there, 40, seed + 100 + options.history.size(), false));
      options.history.back().name = fmt::format("machine {}", options.history.size());
    }
    ModelSearch search(space, options);
    search.tell(std::vector{told(space.default_configuration(), objective(space.default_configuration()))});
    for (int i = 0; i < 4; ++i) {
      const auto proposal = search.ask(1).at(0);
      CAPTURE(seed, i, proposal.reason);
      if (i < 3) CHECK(proposal.reason == "among the best as machine 1, machine 2 and machine 3 rank");
      if (i == 3) CHECK_THAT(proposal.reason, ContainsSubstring("expected improvement"));
      double sum = 0;
      for (int k = 0; k < 5; ++k) sum += number(proposal.configuration, fmt::format("p{}", k));
      if (i == 0) CHECK(sum / 5 > 4);
      search.tell(std::vector{told(proposal.configuration, objective(proposal.configuration))});
    }
  }
}

TEST_CASE("what is begun at once, before anything was measured, is what an order says, too", "[history]") {
  const auto space = bowl();
  const Objective objective = [](const Configuration& each) { return depth(each); };
  ModelSearch search(space, {.seed = 1, .history = {campaign(space, objective, 40, 101, false)}});
  const auto proposals = search.ask(ModelSearch::kStart);
  REQUIRE(proposals.size() == ModelSearch::kStart);
  for (const auto& each : proposals) CHECK(each.reason == "among the best as evening ranks");
}

TEST_CASE("where an order is dropped, trials of an earlier campaign stay those of an earlier one", "[history]") {
  const auto space = bowl();
  const Objective objective = [](const Configuration& each) { return depth(each); };
  ModelSearch search(
      space,
      {.seed = 1, .history = {campaign(space, objective, 40, 101, true), campaign(space, objective, 40, 102, false)}});
  const Configuration slow = space.default_configuration();
  search.tell(std::vector{told(slow, depth(slow))});
  CHECK(search.prior().holds());
  CHECK_FALSE(search.prior().ranks());  // forty trials of this machine say more
  CHECK(search.times().size() >= 40);
  CHECK(search.times().target().to_log(search.times().best()) == Approx(std::log(depth(slow))).margin(1e-6));
}

TEST_CASE("with a past, levels are pruned before the second trial", "[history]") {
  auto framework = choices("framework", {std::string("lean"), std::string("fat")});
  framework.stage = space::Stage::Environment;
  const auto space =
      make_space({framework, with_default(integers("threads", 1, 16), std::int64_t{16}), integers("batch", 1, 8)});
  const auto trial_of = [](const Configuration& each) {
    auto trial = told(each, 0);
    const bool fat = *each.find("framework") == space::Value(std::string("fat"));
    trial.parts = space::Parts{.import = fat ? 1.5 : 0.5,
                               .epoch_overhead = fat ? 0.3 : 0.1,
                               .steps_per_epoch = 100,
                               .steady_step = (fat ? 0.03 : 0.01) * (0.2 + 1 / number(each, "threads"))};
    trial.estimate->value = space::total_time(*trial.parts, 12);
    return trial;
  };
  History past{.same_machine_and_workload = true, .trials = {}};
  space::Random random(3);
  while (past.trials.size() < 40) past.trials.push_back(trial_of(*space.sample(random)));
  PrunedSearch fresh(space, {.seed = 1}), informed(space, {.seed = 1, .history = {past}});
  CHECK(informed.pruned_levels().empty());  // against what?
  for (auto* search : {&fresh, &informed}) search->tell(std::vector{trial_of(space.default_configuration())});
  CHECK(fresh.pruned_levels().empty());
  REQUIRE(informed.pruned_levels().size() == 1);
  CHECK(informed.pruned_levels()[0].parameter == 0);
  CHECK(informed.models().lattice().axis(0).values[informed.pruned_levels()[0].level] ==
        space::Value(std::string("fat")));
}

}  // namespace nocturne::search
