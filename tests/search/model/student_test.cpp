#include "search/model/student.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

namespace nocturne::search::model {

using Catch::Approx;

TEST_CASE("quantiles are those of the tables, and stay so when more are asked for than are remembered", "[model]") {
  for (int round = 0; round < 3; ++round) {
    CHECK(student_quantile(1, 0.75) == Approx(1));  // of Cauchy's distribution
    CHECK(student_quantile(8, 0.95) == Approx(1.859548).epsilon(1e-6));
    CHECK(student_quantile(8, 0.05) == Approx(-1.859548).epsilon(1e-6));
    CHECK(student_quantile(30, 0.975) == Approx(2.042272).epsilon(1e-6));
    for (int degrees = 2; degrees < 40; ++degrees) CHECK(student_quantile(degrees, 0.5) == Approx(0).margin(1e-12));
  }
}

}  // namespace nocturne::search::model
