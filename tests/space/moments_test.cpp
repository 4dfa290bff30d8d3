#include "space/moments.hpp"

#include <array>
#include <cmath>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

namespace nocturne::space {

TEST_CASE("moments are those of a sample", "[moments]") {
  const std::array values{2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0};
  const Moments moments = moments_of(values);
  CHECK(moments.count == 8);
  CHECK(moments.mean == 5);
  CHECK(moments.squares == 32);
  CHECK(moments.sd() == Catch::Approx(std::sqrt(32.0 / 7)));
  CHECK(moments.squared_error() == Catch::Approx(32.0 / 7 / 8));
  CHECK(moments.standard_error() == Catch::Approx(std::sqrt(32.0 / 7 / 8)));
}

TEST_CASE("of fewer than two values no scatter is known", "[moments]") {
  CHECK(moments_of({}).mean == 0);
  CHECK(moments_of({}).standard_error() == 0);
  const Moments one = moments_of(std::array{3.0});
  CHECK(one.mean == 3);
  CHECK(one.sd() == 0);
  CHECK(one.standard_error() == 0);
}

}  // namespace nocturne::space
