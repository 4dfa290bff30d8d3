// What the nodes of a cluster differ by, and trials told without it.

#include <cmath>
#include <random>
#include <string>

#include <fmt/format.h>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tuner/campaign/node_effects.hpp"

namespace nocturne::test {
namespace {

using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using tuner::NodeEffects;

space::Estimate seconds(double value) {
  return {.value = value, .standard_error = 0, .runs = 1};
}

}  // namespace

TEST_CASE("one node alone has no effect, and neither has one that is not known", "[nodes]") {
  NodeEffects nodes(0.01);
  nodes.learn("n1", seconds(10));
  nodes.refer_to("n1");
  CHECK(nodes.effect("n1") == 0);
  CHECK(nodes.effect("n2") == 0);
  CHECK(nodes.remark("n1").empty());
}

TEST_CASE("nodes that differ by no more than chance have no effect", "[nodes]") {
  NodeEffects nodes(0.05);
  nodes.learn("n1", seconds(10));
  nodes.learn("n2", seconds(10.2));
  nodes.learn("n3", seconds(9.9));
  for (const std::string node : {"n1", "n2", "n3"}) {
    CHECK(nodes.effect(node) == 0);
    CHECK(nodes.remark(node).empty());
  }
}

TEST_CASE("an effect far beyond chance is taken nearly whole, against the node that is referred to", "[nodes]") {
  NodeEffects nodes(0.001);
  nodes.learn("n1", seconds(10));
  nodes.learn("n2", seconds(11));
  nodes.learn("n3", seconds(10));
  nodes.refer_to("n1");
  CHECK(nodes.effect("n1") == 0);
  CHECK(nodes.effect("n3") == Approx(0).margin(1e-12));
  CHECK(nodes.effect("n2") == Approx(std::log(1.1)).epsilon(0.01));
  CHECK_THAT(nodes.remark("n2"), ContainsSubstring("the node n2 takes 10 % longer than the others"));
  CHECK(nodes.remark("n1").contains("less"));
  // It is measured again: the node has drifted back.
  nodes.learn("n2", seconds(10));
  CHECK(nodes.effect("n2") == 0);
  CHECK(nodes.remark("n2").empty());
}

TEST_CASE("drawn effects are estimated with less error than as they were measured", "[nodes]") {
  // Variances as assumed: nodes 4 %, processes 4 %. The best linear estimate errs by half the variance.
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  double raw = 0, shrunk = 0;
  for (int repeat = 0; repeat < 300; ++repeat) {
    NodeEffects nodes(0.04);
    std::map<std::string, std::pair<double, double>> drawn;
    for (int i = 0; i < 16; ++i) {
      const std::string name = fmt::format("n{}", i);
      const double effect = 0.04 * normal(random), seen = effect + 0.04 * normal(random);
      drawn[name] = {effect, seen};
      nodes.learn(name, seconds(std::exp(seen)));
    }
    for (const auto& [name, each] : drawn) {
      raw += std::pow(each.second - each.first, 2);
      shrunk += std::pow(nodes.effect(name) - each.first, 2);
    }
  }
  CHECK(shrunk < 0.7 * raw);
}

TEST_CASE("a trial is told as it would have been without the effect", "[nodes]") {
  space::Trial trial{.outcome = space::Outcome::Ok,
                     .estimate = space::Estimate{.value = 110, .standard_error = 1.1, .runs = 2},
                     .parts = space::Parts{.import = 1.1, .steps_per_epoch = 100, .steady_step = 0.11}};
  const space::Trial before = trial;
  tuner::take_away(0, trial);
  CHECK(trial.estimate == before.estimate);
  tuner::take_away(std::log(1.1), trial);
  CHECK(trial.estimate->value == Approx(100));
  CHECK(trial.estimate->standard_error == Approx(1));
  CHECK(trial.parts->import == Approx(1));
  CHECK(trial.parts->steady_step == Approx(0.1));
  CHECK(trial.parts->steps_per_epoch == 100);
}

}  // namespace nocturne::test
