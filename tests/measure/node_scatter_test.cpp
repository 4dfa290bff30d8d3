#include "measure/comparison/node_scatter.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "measure/comparison/comparison.hpp"

namespace nocturne::measure {
namespace {

using Catch::Approx;

const std::vector<std::string> kTwoEach = {"n1", "n2", "n3", "n1", "n2", "n3"};

/// So many pairs on each of three nodes: the gain, what a node adds to it, and noise.
struct Drawn {
  std::vector<double> log_ratios;
  std::vector<std::string> nodes;

  Drawn(int pairs, double gain, double node_sd, double pair_sd, std::mt19937_64& random) {
    std::normal_distribution<double> unit;
    for (int node = 0; node < 3; ++node) {
      const double own = gain + node_sd * unit(random);
      for (int pair = 0; pair < pairs; ++pair) {
        log_ratios.push_back(own + pair_sd * unit(random));
        nodes.push_back("n" + std::to_string(node));
      }
    }
  }
  [[nodiscard]] Comparison compared() const {
    return compare(log_ratios, {.margin_percent = 0, .confidence = 0.95, .nodes = nodes});
  }
};

}  // namespace

TEST_CASE("nodes scatter by their means, beside the scatter within each", "[comparison][nodes]") {
  // Means 1, 2 and 6 about 3: between them 28 on 2 degrees of freedom, within them 6 on 3, so F is 7.
  const std::vector<double> ratios = {0, 1, 5, 2, 3, 7};
  const NodeScatter scatter = scatter_of_nodes(ratios, kTwoEach);
  CHECK(scatter.nodes == 3);
  CHECK(scatter.mean == Approx(3));
  CHECK(scatter.error == Approx(std::sqrt(14.0 / 2 / 3)));
  // P(F(2, 3) ≥ 7) = (1 + 2 · 7 / 3)^(−3/2).
  CHECK(scatter.probability == Approx(std::pow(1 + 14.0 / 3, -1.5)));
  CHECK(scatter.over_nodes());
  CHECK_FALSE(scatter.differs());
}

TEST_CASE("one machine, and one pair a node, say nothing of nodes", "[comparison][nodes]") {
  const std::vector<double> ratios = {0, 1, 5};
  for (const std::vector<std::string>& nodes :
       {std::vector<std::string>(), std::vector<std::string>(3, "n1"), std::vector<std::string>{"n1", "n2", "n3"}}) {
    const NodeScatter scatter = scatter_of_nodes(ratios, nodes);
    CHECK(scatter.probability == 1);
    CHECK_FALSE(scatter.over_nodes());
    const Comparison judged = compare(ratios, {.nodes = nodes}), alone = compare(ratios);
    CHECK(judged.low_percent == alone.low_percent);
    CHECK(judged.high_percent == alone.high_percent);
  }
  CHECK(scatter_of_nodes({}, {}).nodes == 0);
}

TEST_CASE("a gain that depends on the node is judged by the mean over nodes", "[comparison][nodes]") {
  // Pairs of a node agree: six of them on three nodes tell as much as three.
  const std::vector<double> ratios = {0.1, 0.2, 0.3, 0.1001, 0.2001, 0.3001};
  const Comparison judged = compare(ratios, {.nodes = kTwoEach});
  const std::vector<double> means = {0.10005, 0.20005, 0.30005};
  const Comparison of_means = compare(means);
  CHECK(judged.nodes == 3);
  CHECK(judged.over_nodes);
  CHECK(judged.differs_by_node);
  CHECK(judged.low_percent == Approx(of_means.low_percent));
  CHECK(judged.high_percent == Approx(of_means.high_percent));
  CHECK(compare(ratios).low_percent > judged.low_percent + 1);
  // Of two nodes the mean has an interval without end: all pairs count, and that they differ is said.
  const std::vector<std::string> two = {"n1", "n2", "n2", "n1", "n2", "n2"};
  const Comparison of_two = compare(std::vector<double>{0.1, 0.2, 0.2, 0.1001, 0.2001, 0.2001}, {.nodes = two});
  CHECK(of_two.nodes == 2);
  CHECK_FALSE(of_two.over_nodes);
  CHECK(of_two.differs_by_node);
}

TEST_CASE("nodes without any noise within them differ by whatever they differ", "[comparison][nodes]") {
  CHECK(scatter_of_nodes(std::vector<double>{1, 2, 3, 1, 2, 3}, kTwoEach).probability == 0);
  CHECK(scatter_of_nodes(std::vector<double>(6, 1.0), kTwoEach).probability == 1);
}

TEST_CASE("alike nodes are said to differ once in a hundred times, and the interval holds the gain",
          "[comparison][nodes]") {
  std::mt19937_64 random(2);
  constexpr int kComparisons = 4000;
  int differ = 0, over = 0, missed = 0;
  for (int i = 0; i < kComparisons; ++i) {
    const Comparison judged = Drawn(4, 0, 0, 0.02, random).compared();
    differ += judged.differs_by_node ? 1 : 0;
    over += judged.over_nodes ? 1 : 0;
    missed += judged.low_percent > 0 || judged.high_percent < 0 ? 1 : 0;
  }
  CAPTURE(differ, over, missed);
  CHECK((differ > kComparisons * 0.005 && differ < kComparisons * 0.015));
  CHECK((over > kComparisons * 0.08 && over < kComparisons * 0.12));
  CHECK(missed < kComparisons * 0.06);
}

TEST_CASE("nodes that favour one side each are no proof that it is faster on their class", "[comparison][nodes]") {
  std::mt19937_64 random(3);
  constexpr int kComparisons = 2000;
  int wrong = 0, pooled = 0;
  for (int i = 0; i < kComparisons; ++i) {
    const Drawn drawn(6, 0, 0.05, 0.01, random);
    const auto is_wrong = [](const Comparison& judged) { return judged.low_percent > 0 || judged.high_percent < 0; };
    wrong += is_wrong(drawn.compared()) ? 1 : 0;
    pooled += is_wrong(compare(drawn.log_ratios, {.margin_percent = 0, .confidence = 0.95})) ? 1 : 0;
  }
  CAPTURE(wrong, pooled);
  CHECK(wrong < kComparisons * 0.065);
  CHECK(pooled > kComparisons * 0.4);  // what they would say as pairs of one machine
}

}  // namespace nocturne::measure
