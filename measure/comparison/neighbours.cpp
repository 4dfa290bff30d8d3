#include "measure/comparison/neighbours.hpp"

#include <cmath>
#include <limits>
#include <numeric>

#include <boost/math/distributions/students_t.hpp>

namespace nocturne::measure {

NeighbourTest::Verdict NeighbourTest::verdict() const {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  Verdict verdict{.ratios = static_cast<int>(ratios_.size()), .low = -kInfinite, .high = kInfinite};
  if (ratios_.empty()) return verdict;
  const auto count = static_cast<double>(ratios_.size());
  verdict.mean = std::accumulate(ratios_.begin(), ratios_.end(), 0.0) / count;
  if (ratios_.size() >= 2) {
    double squares = 0;
    for (const double ratio : ratios_) squares += (ratio - verdict.mean) * (ratio - verdict.mean);
    const boost::math::students_t_distribution<double> student(count - 1);
    const double half = boost::math::quantile(student, kConfidence) * std::sqrt(squares / (count - 1) / count);
    verdict.low = verdict.mean - half;
    verdict.high = verdict.mean + half;
  }
  if (verdict.ratios < kFewestRatios) return verdict;
  verdict.shared = verdict.high < kMostDisturbance;
  verdict.decided = verdict.shared || verdict.low > kMostDisturbance || verdict.ratios >= kMostRatios;
  return verdict;
}

}  // namespace nocturne::measure
