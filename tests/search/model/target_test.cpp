#include "search/model/prediction.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <vector>

#include "space/normal_distribution.hpp"

namespace nocturne::search::model {

using Catch::Approx;
using space::expected_improvement;

TEST_CASE("a target's inverse undoes it, on both sides of the knee", "[model]") {
  const std::vector<double> values = {1, 1.1, 1.3, 2, 2.5, 3, 4};
  const auto target = Target::fit(values);
  CHECK(target.knee == 2);
  double before = -1e9;
  for (double value = 0; value < 8; value += 0.1) {
    const double bent = target.to_model(value);
    CHECK(target.to_log(bent) == Approx(value).epsilon(1e-9));
    CHECK(bent > before);
    before = bent;
  }
}

TEST_CASE("a tenfold outlier moves the target less than its plain logarithm would", "[model]") {
  const std::vector<double> values = {1, 1.1, 1.3, 1.9, 2, 2.1, 2.5};
  auto with_outlier = values;
  with_outlier.back() += std::log(10.0);
  const auto target = Target::fit(values);
  const double moved = target.to_model(with_outlier.back()) - target.to_model(values.back());
  CHECK(moved * target.scale < 0.55 * std::log(10.0));
}

TEST_CASE("equal values make a target all the same", "[model]") {
  const auto target = Target::fit(std::vector<double>{2, 2, 2});
  CHECK(target.to_model(2) == 0);
  CHECK(target.to_log(target.to_model(2.5)) == Approx(2.5));
}

TEST_CASE("expected improvement is that of the formula and of numerical integration", "[model]") {
  // u = 0: sd / sqrt(2 pi); far below: the plain difference.
  CHECK(expected_improvement(1, 2, 1) == Approx(2 / std::sqrt(2 * M_PI)));
  CHECK(expected_improvement(0, 0.01, 1) == Approx(1));
  double sum = 0;
  for (double z = -8; z < 8; z += 1e-4)
    sum += std::max(0.0, 0.3 - (0.8 + 0.6 * z)) * std::exp(-z * z / 2) / std::sqrt(2 * M_PI) * 1e-4;
  CHECK(expected_improvement(0.8, 0.6, 0.3) == Approx(sum).epsilon(1e-4));
}

TEST_CASE("intervals of a prediction go through the target and widen on request", "[model]") {
  const auto target = Target::fit(std::vector<double>{0, 0.5, 1, 2, 3});
  const Prediction prediction{.mean = 0.2, .latent_sd = 0.4, .observed_sd = 0.5, .degrees = 8, .target = target};
  const auto interval = prediction.log_interval(0.9);
  CHECK(interval.lower < prediction.log_mean());
  CHECK(interval.upper > prediction.log_mean());
  CHECK(target.to_model(interval.upper) == Approx(0.2 + 1.8595480 * 0.5).epsilon(1e-6));  // t quantile, 8 degrees
  CHECK(prediction.log_interval(0.9, 1.4).lower < interval.lower);
  CHECK(prediction.log_quantile(0.5) == Approx(prediction.log_mean()));
}

}  // namespace nocturne::search::model
