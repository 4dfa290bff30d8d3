#pragma once

/// A space whose truth is known, and processes that differ: what predictions about a campaign are held against.

#include <cmath>
#include <string>

#include "space/lattice.hpp"
#include "space/random.hpp"
#include "tests/space/build.hpp"

namespace nocturne::search::test {

enum DrawnParameter { kMode, kThreads, kPrecision, kAllocator, kPages, kBatch };

/// `mode` and `pages` do nothing; threads help bf16 less, and one allocator is slow with large batches.
inline space::Space drawn_space() {
  using namespace space::test;
  using std::string;
  std::vector<space::ParameterSpec> parameters = {
      choices("mode", {string("a"), string("b"), string("c"), string("d")}),
      integers("threads", 1, 4),
      choices("precision", {string("f32"), string("bf16")}),
      choices("allocator", {string("glibc"), string("jemalloc"), string("tcmalloc")}),
      boolean("pages"),
      integers("batch", 1, 5)};
  // A stage whose values may be ruled out.
  for (const auto each : {kMode, kPrecision, kAllocator}) parameters[each].stage = space::Stage::Environment;
  return make_space(parameters);
}

/// Log seconds.
inline double drawn_truth(space::Point point) {
  return -0.25 * std::log(1.0 + point[kThreads]) - (point[kPrecision] == 1 ? 0.4 : 0.0) -
         (point[kAllocator] == 1 ? 0.01 : 0.0) + 0.06 * std::abs(point[kBatch] - 2.0) +
         (point[kPrecision] == 1 ? 0.08 * std::log(1.0 + point[kThreads]) : 0.0) +
         (point[kAllocator] == 2 && point[kBatch] > 2 ? 0.1 : 0.0);
}

inline double normal(space::Random& random) {
  return std::sqrt(-2 * std::log(1 - random.unit())) * std::cos(6.283185307179586 * random.unit());
}

/// What a neighbour adds: with this probability a run takes 1.3 to 3 times as long.
inline double disturbance(space::Random& random, double probability) {
  return random.unit() < probability ? std::log(1.3 + 1.7 * random.unit()) : 0;
}

}  // namespace nocturne::search::test
