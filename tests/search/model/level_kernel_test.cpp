#include "search/model/level_kernel.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "tests/space/build.hpp"

namespace nocturne::search::model {

using namespace space::test;
using Catch::Approx;

TEST_CASE("level kernels are centred twice, have mean diagonal 1 and know the order", "[model]") {
  const auto space = make_space({ordered("tile", {std::int64_t{1}, std::int64_t{2}, std::int64_t{4}, std::int64_t{16}}),
                                 choices("layout", {std::string("a"), std::string("b"), std::string("c")}),
                                 boolean("unroll", "tile > 1")});
  space::Lattice lattice(space);
  const LevelKernels kernels(lattice);
  CHECK(kernels.levels(2) == 3);  // false, true, inactive
  for (std::size_t i = 0; i < 3; ++i) {
    const auto n = kernels.levels(i);
    double diagonal = 0;
    for (std::size_t a = 0; a < n; ++a) {
      double sum = 0;
      for (std::size_t b = 0; b < n; ++b) sum += static_cast<double>(kernels.covariance(i, a, b));
      CHECK(sum == Approx(0).margin(1e-5));
      diagonal += static_cast<double>(kernels.covariance(i, a, a));
    }
    CHECK(diagonal / static_cast<double>(n) == Approx(1).epsilon(1e-5));
  }
  CHECK(kernels.covariance(0, 0, 1) > kernels.covariance(0, 0, 2));
  CHECK(kernels.covariance(0, 0, 2) > kernels.covariance(0, 0, 3));
  CHECK(kernels.covariance(1, 0, 1) == Approx(kernels.covariance(1, 0, 2)));
  CHECK(kernels.closeness(2, 0, 2) == Approx(std::exp(-1.0)));
}

TEST_CASE("positions are logarithmic where ratios are large, linear where not", "[model]") {
  const auto space = make_space({ordered("a", {std::int64_t{1}, std::int64_t{4}, std::int64_t{16}}),
                                 ordered("b", {std::int64_t{10}, std::int64_t{15}, std::int64_t{20}}),
                                 ordered("c", {std::int64_t{0}, std::int64_t{3}, std::int64_t{15}}),
                                 ordered("d", {std::int64_t{-9}, std::int64_t{-8}, std::int64_t{100}})});
  space::Lattice lattice(space);
  CHECK(level_positions(lattice, 0)[1] == Approx(0.5));
  CHECK(level_positions(lattice, 1)[1] == Approx(0.5));
  CHECK(level_positions(lattice, 2)[1] == Approx(0.5));  // log 4 / log 16
  CHECK(level_positions(lattice, 3)[1] == Approx(0.5));  // negative: by number
}

}  // namespace nocturne::search::model
