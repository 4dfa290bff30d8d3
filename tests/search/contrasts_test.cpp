#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "search/model/prediction.hpp"
#include "search/model/value_of_continuing.hpp"
#include "tests/space/build.hpp"

namespace nocturne::search::model {

using namespace space::test;

TEST_CASE("contrasts read as the user would say them", "[model]") {
  CHECK(contrast_text(std::log(1 / 1.43), {std::log(1 / 1.45), std::log(1 / 1.41)}, "f32") ==
        "43 % faster than f32 (41 to 45 %)");
  CHECK(contrast_text(std::log(1.03), {std::log(1 / 1.01), std::log(1.072)}, "f32") ==
        "3.0 % slower than f32 (1.0 % faster to 7.2 % slower)");
}

TEST_CASE("the gain still to be expected shrinks as the best is found, and more trials promise more", "[model]") {
  const auto space = make_space({integers("a", 0, 19), integers("b", 0, 19)});
  const auto seconds = [](std::int64_t a, std::int64_t b) {
    return 0.1 * std::pow(static_cast<double>(a) - 13, 2) / 20 + 0.05 * std::abs(static_cast<double>(b) - 4);
  };
  const auto expected = [&](std::size_t known, bool with_best, std::size_t trials) {
    space::Lattice lattice(space);
    LinearModel model(lattice, {});
    Feasibility feasibility(lattice);
    space::Random random(4);
    std::vector<space::Level> point(2);
    for (std::size_t i = 0; i < known; ++i) {
      (void)lattice.sample(random, point);
      if (point[0] == 13 || point[1] == 4) continue;
      model.tell(point, seconds(point[0], point[1]));
      feasibility.tell(point, true);
    }
    if (with_best) {
      model.tell(std::vector<space::Level>{13, 4}, seconds(13, 4));
      feasibility.tell(std::vector<space::Level>{13, 4}, true);
    }
    model.fit();
    const auto size = model.size();
    const auto before = model.predict(std::vector<space::Level>{1, 1}).mean;
    space::Random plays(9);
    const auto result = expected_gain(model, feasibility, lattice, trials, plays);
    CHECK(result.trials == trials);
    CHECK(result.lower <= result.mean);
    CHECK(result.mean <= result.upper);
    CHECK(model.size() == size);
    CHECK(model.predict(std::vector<space::Level>{1, 1}).mean == Catch::Approx(before).margin(1e-6));
    return result.mean;
  };
  const double early = expected(25, false, 8);
  const double one = expected(25, false, 1);
  const double late = expected(60, true, 8);
  CHECK(early > 0.05);
  CHECK(one < early);
  CHECK(late < 0.3 * early);
}

}  // namespace nocturne::search::model
