#include "search/model/feasibility.hpp"

#include <Eigen/Dense>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "search/model/level_kernel.hpp"
#include "tests/space/build.hpp"

namespace nocturne::search::model {

using namespace space::test;
using Catch::Approx;

TEST_CASE("what works is certain until something fails, then ridge regression on the labels and rules", "[model]") {
  const auto space = make_space({integers("a", 0, 9), boolean("b"), integers("c", 0, 4)});
  space::Lattice lattice(space);
  const LevelKernels kernels(lattice);
  Feasibility feasibility(lattice);
  space::Random random(2);
  space::PointList points(3);
  std::vector<double> labels;
  std::vector<space::Level> point(3);
  for (int t = 0; t < 40; ++t) {
    REQUIRE(lattice.sample(random, point));
    const bool is_new = [&] {
      for (std::size_t i = 0; i < points.size(); ++i)
        if (std::ranges::equal(points[i], point)) return false;
      return true;
    }();
    if (!is_new) continue;
    points.push_back(point);
    feasibility.tell(point, true);
    labels.push_back(1);
  }
  CHECK(feasibility.probability(point) == 1);
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i][0] < 6 || points[i][1] == 0) continue;  // a ≥ 6 with b fails
    feasibility.tell(points[i], false);
    labels[i] = 0;
  }
  REQUIRE(feasibility.failures() > 3);
  const auto n = static_cast<Eigen::Index>(points.size());
  const auto closeness = [&](space::Point x, space::Point y) {
    double product = 1;
    for (std::size_t i = 0; i < x.size(); ++i) product *= static_cast<double>(kernels.closeness(i, x[i], y[i]));
    return product;
  };
  const double prior =
      (static_cast<double>(points.size() - feasibility.failures()) + 2) / (static_cast<double>(n) + 2.5);
  Eigen::MatrixXd k(n, n);
  Eigen::VectorXd y(n);
  for (Eigen::Index s = 0; s < n; ++s) {
    for (Eigen::Index t = 0; t < n; ++t) {
      k(s, t) = closeness(points[static_cast<std::size_t>(s)], points[static_cast<std::size_t>(t)]) +
                (s == t ? Feasibility::kRidge : 0);
    }
    y(s) = labels[static_cast<std::size_t>(s)] - prior;
  }
  const Eigen::VectorXd alpha = k.llt().solve(y);
  FailureRules rules(lattice);
  for (std::size_t i = 0; i < points.size(); ++i) rules.tell(points[i], labels[i] > 0);
  for (space::Level a = 0; a < 10; ++a) {
    const std::vector<space::Level> at = {a, 1, 2};
    double expected = prior;
    for (Eigen::Index t = 0; t < n; ++t) expected += alpha(t) * closeness(at, points[static_cast<std::size_t>(t)]);
    expected = std::clamp(expected, Feasibility::kFloor, 1.0) * rules.allows(at);
    CHECK(feasibility.probability(at) == Approx(expected).margin(1e-3));
  }
  CHECK(feasibility.probability(std::vector<space::Level>{8, 1, 2}) < 0.4);
  CHECK(feasibility.probability(std::vector<space::Level>{2, 1, 2}) > 0.7);
}

}  // namespace nocturne::search::model
