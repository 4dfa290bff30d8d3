#include "measure/comparison/neighbours.hpp"

#include <limits>

#include "measure/comparison/planned_looks.hpp"
#include "space/moments.hpp"

namespace nocturne::measure {

NeighbourTest::Verdict NeighbourTest::verdict() const {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  Verdict verdict{.ratios = static_cast<int>(ratios_.size()), .low = -kInfinite, .high = kInfinite};
  const space::Moments moments = space::moments_of(ratios_);
  verdict.mean = moments.mean;
  if (verdict.ratios >= 2) {
    // The quantile of one side is that of both at this confidence.
    const double half = student_critical(verdict.ratios, 2 * kConfidence - 1) * moments.standard_error();
    verdict.low = verdict.mean - half;
    verdict.high = verdict.mean + half;
  }
  if (verdict.ratios < kFewestRatios) return verdict;
  verdict.shared = verdict.high < kMostDisturbance;
  verdict.decided = verdict.shared || verdict.low > kMostDisturbance || verdict.ratios >= kMostRatios;
  return verdict;
}

}  // namespace nocturne::measure
