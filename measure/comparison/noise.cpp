#include "measure/comparison/noise.hpp"

#include <algorithm>
#include <array>
#include <boost/math/distributions/students_t.hpp>
#include <cassert>
#include <cmath>

#include "measure/comparison/location.hpp"
#include "measure/comparison/planned_looks.hpp"
#include "measure/comparison/warm_up.hpp"
#include "space/moments.hpp"
#include "space/names.hpp"

namespace nocturne::measure {
namespace {

constexpr std::array<std::string_view, 3> kPairMethods = {"sequential", "slices", "duet"};
constexpr std::array<std::string_view, 3> kStepEstimators = {"median", "minimum", "paired"};

constexpr int kMostPairs = 1'000'000;

/// Log ratio that n pairs resolve, in units of the sd of a pair.
double resolution_in_sds(int pairs, const Power& power) {
  const boost::math::students_t_distribution<double> student(pairs - 1);
  return (boost::math::quantile(student, 1 - power.error / 2) + boost::math::quantile(student, power.power)) /
         std::sqrt(static_cast<double>(pairs));
}

}  // namespace

std::string_view to_text(PairMethod method) {
  return space::name_of(method, kPairMethods);
}

std::optional<PairMethod> pair_method_from_text(std::string_view text) {
  return space::named<PairMethod>(text, kPairMethods);
}

std::string_view to_text(StepEstimator estimator) {
  return space::name_of(estimator, kStepEstimators);
}

std::optional<StepEstimator> step_estimator_from_text(std::string_view text) {
  return space::named<StepEstimator>(text, kStepEstimators);
}

std::optional<double> judged_step(std::span<const double> step_seconds, StepEstimator estimator) {
  assert(estimator != StepEstimator::Paired);
  if (step_seconds.empty()) return std::nullopt;
  const auto steady = step_seconds.subspan(std::min(step_seconds.size(), detect_warm_up(step_seconds).samples));
  if (steady.empty()) return std::nullopt;
  return estimator == StepEstimator::Median ? median(steady) : std::ranges::min(steady);
}

Noise noise_of(std::span<const double> log_ratios) {
  assert(log_ratios.size() >= 2);
  const space::Moments moments = space::moments_of(log_ratios);
  return {.pairs = static_cast<int>(moments.count), .sd = moments.sd(), .bias = moments.mean};
}

std::optional<int> pairs_to_resolve(double sd, double percent, const Power& power) {
  const double wanted = std::log1p(percent / 100);
  if (sd * resolution_in_sds(kMostPairs, power) > wanted) return std::nullopt;
  int low = 1, high = kMostPairs;  // `low` pairs do not, `high` pairs do
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (sd * resolution_in_sds(middle, power) <= wanted ? high : low) = middle;
  }
  return high;
}

double resolution_percent(double sd, int pairs, const Power& power) {
  assert(pairs >= 2);
  return 100 * std::expm1(sd * resolution_in_sds(pairs, power));
}

double sd_of_interval(double half_width, int pairs, double confidence) {
  assert(pairs >= 2);
  return half_width * std::sqrt(static_cast<double>(pairs)) / student_critical(pairs, confidence);
}

}  // namespace nocturne::measure
