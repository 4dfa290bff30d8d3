#include "kernels/cuda/device_code/step_state.hpp"

#include <catch2/catch_test_macros.hpp>

namespace nocturne::cuda {

TEST_CASE("an overflow halves the loss scale and forgets the good steps", "[cuda]") {
  const LossScale after = next_scale({.scale = 1024, .good_steps = 1999}, true);
  CHECK(after.scale == 512);
  CHECK(after.good_steps == 0);
}

TEST_CASE("so many good steps in a row double the loss scale, one fewer do not", "[cuda]") {
  LossScale now{.scale = 1024, .good_steps = 0};
  for (int i = 0; i < kGoodStepsToDouble - 1; ++i) now = next_scale(now, false);
  CHECK(now.scale == 1024);
  now = next_scale(now, false);
  CHECK(now.scale == 2048);
  CHECK(now.good_steps == 0);
}

TEST_CASE("the loss scale stays between one and the largest", "[cuda]") {
  CHECK(next_scale({.scale = 1, .good_steps = 5}, true).scale == 1);
  CHECK(next_scale({.scale = kLargestScale, .good_steps = kGoodStepsToDouble - 1}, false).scale == kLargestScale);
  LossScale falling{.scale = kFirstScale, .good_steps = 0};
  for (int i = 0; i < 100; ++i) falling = next_scale(falling, true);
  CHECK(falling.scale == 1);
}

}  // namespace nocturne::cuda
