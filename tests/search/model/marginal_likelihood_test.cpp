#include "search/model/marginal_likelihood.hpp"

#include <Eigen/Dense>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <numbers>

#include "search/model/design.hpp"
#include "tests/space/build.hpp"

namespace nocturne::search::model {

using namespace space::test;
using Catch::Approx;

namespace {

struct Problem {
  space::Space space =
      make_space({integers("a", 0, 6), choices("b", {std::string("x"), std::string("y"), std::string("z")}),
                  boolean("c"), ordered("d", {std::int64_t{1}, std::int64_t{8}, std::int64_t{64}}, "c")});
  space::Lattice lattice{space};
  Design design;
  std::vector<double> values;
  std::vector<double> noise_factors;

  explicit Problem(std::size_t trials)
      : design(lattice, {{.name = "a", .value = [](space::Point point) { return static_cast<double>(point[0]); }}}) {
    space::Random random(7);
    std::vector<space::Level> point(lattice.width());
    for (std::size_t t = 0; t < trials; ++t) {
      REQUIRE(lattice.sample(random, point));
      design.append(point);
      values.push_back(2 * random.unit() - 1);
      noise_factors.push_back(t % 5 == 0 ? 4 : 1);
    }
  }
};

Scales some_scales() {
  return {.weights = {0.4, 0.2, 0.3, 0.1, 0.25}, .pairs = 0.7, .local = 0.2, .noise = 0.05};
}

/// The covariance as the header defines it, in the plainest way.
double covariance(const Problem& problem, const Scales& scales, std::size_t s, std::size_t t) {
  const auto& kernels = problem.design.kernels();
  const auto x = problem.design.point(s);
  const auto y = problem.design.point(t);
  double sum = 0, squares = 0, product = 1;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto a = kernels.row(i, x[i]) - kernels.first_row(i);
    const auto b = kernels.row(i, y[i]) - kernels.first_row(i);
    const double k = scales.weights[i] * static_cast<double>(kernels.covariance(i, a, b));
    sum += k;
    squares += k * k;
    product *= static_cast<double>(kernels.closeness(i, a, b));
  }
  space::Lattice lattice(problem.space);
  double mean = 0, square = 0;
  space::Random random(0);
  std::vector<space::Level> point(lattice.width());
  for (int i = 0; i < 256; ++i) {
    REQUIRE(lattice.sample(random, point));
    mean += point[0] / 256.0;
    square += point[0] * point[0] / 256.0;
  }
  const double spread = std::sqrt(square - mean * mean);
  const double k = scales.weights[4] * (x[0] - mean) * (y[0] - mean) / (spread * spread);
  sum += k;
  squares += k * k;
  return 1 + sum + scales.pairs / 2 * (sum * sum - squares) + scales.local * product;
}

}  // namespace

TEST_CASE("the marginal likelihood is that of a plain multivariate normal", "[model]") {
  Problem problem(23);
  const auto scales = some_scales();
  MarginalLikelihood likelihood(problem.design, problem.values, problem.noise_factors, ScalePriors(5));
  (void)likelihood.evaluate(to_vector(scales), {});
  const Eigen::Index n = 23;
  Eigen::MatrixXd k(n, n);
  for (Eigen::Index s = 0; s < n; ++s) {
    for (Eigen::Index t = 0; t < n; ++t)
      k(s, t) = covariance(problem, scales, static_cast<std::size_t>(s), static_cast<std::size_t>(t));
    k(s, s) += scales.noise * problem.noise_factors[static_cast<std::size_t>(s)];
  }
  const Eigen::VectorXd y = Eigen::Map<Eigen::VectorXd>(problem.values.data(), n);
  const double expected = -0.5 * y.dot(k.llt().solve(y)) - 0.5 * std::log(k.determinant()) -
                          0.5 * static_cast<double>(n) * std::log(2 * std::numbers::pi);
  CHECK(likelihood.log_likelihood() == Approx(expected).epsilon(1e-4));  // covariances are floats
}

TEST_CASE("the gradient of the marginal likelihood is that of finite differences", "[model]") {
  Problem problem(37);
  MarginalLikelihood likelihood(problem.design, problem.values, problem.noise_factors, ScalePriors(5));
  const auto at = to_vector(some_scales());
  std::vector<double> gradient(at.size());
  (void)likelihood.evaluate(at, gradient);
  for (std::size_t i = 0; i < at.size(); ++i) {
    auto moved = at;
    constexpr double kStep = 1e-2;
    moved[i] = at[i] + kStep;
    const double above = likelihood.evaluate(moved, {});
    moved[i] = at[i] - kStep;
    const double below = likelihood.evaluate(moved, {});
    CHECK(gradient[i] == Approx((above - below) / (2 * kStep)).epsilon(5e-3).margin(5e-3));
  }
}

TEST_CASE("fitting climbs, and finds the noise of values that are noise alone", "[model]") {
  Problem problem(60);
  std::vector<double> ones(60, 1);
  space::Random random(3);
  for (auto& each : problem.values) {  // a sum of twelve: nearly normal, variance 1
    each = -6;
    for (int i = 0; i < 12; ++i) each += random.unit();
  }
  MarginalLikelihood likelihood(problem.design, problem.values, ones, ScalePriors(5));
  const Scales start{.weights = std::vector<double>(5, 0.2)};
  const double before = likelihood.evaluate(to_vector(start), {});
  const auto fitted = fit_scales(likelihood, start, 60);
  CHECK(likelihood.evaluate(to_vector(fitted), {}) > before + 1);
  CHECK(fitted.noise > 0.3);
}

}  // namespace nocturne::search::model
