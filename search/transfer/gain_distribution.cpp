#include "search/transfer/gain_distribution.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "search/model/student.hpp"
#include "space/normal_distribution.hpp"

namespace nocturne::search::transfer {
namespace {

constexpr int kHalvings = 40;
constexpr double kPrecision = 1e-4;
constexpr double kNarrowest = 1e-3;  // log units: where the search for a quantile begins
constexpr double kWidest = 1e6;      // and ends

// Gauss-Hermite quadrature of three points: exact for polynomials of the fifth degree.
struct Abscissa {
  double place, weight;
};
constexpr std::array<Abscissa, 3> kHermite = {
    {{-std::numbers::sqrt3, 1.0 / 6}, {0, 2.0 / 3}, {std::numbers::sqrt3, 1.0 / 6}}};

}  // namespace

std::vector<double> likely_factors(double sd, double degrees, int count) {
  std::vector<double> factors;
  for (int i = 0; i < count; ++i) factors.push_back(std::exp(sd * model::student_quantile(degrees, (i + 0.5) / count)));
  return factors;
}

double GainDistribution::below(double gain) const {
  const model::Target& bend = stretch_->bend;
  const double reference = bend.to_log(0);
  double sum = 0;
  for (const double factor : stretch_->factors) {
    const double wider = stretch_->of_spread ? factor : 1, stronger = stretch_->of_spread ? 1 : factor;
    const double at = -bend.to_model(reference - gain / stronger);
    for (const Component& each : components_)
      sum += each.probability * space::normal_below((at - each.mean) / (wider * each.sd));
  }
  return sum / static_cast<double>(stretch_->factors.size());
}

double GainDistribution::quantile(double probability) const {
  double lower = -kNarrowest, upper = kNarrowest;
  while (below(lower) > probability && lower > -kWidest) lower *= 2;
  while (below(upper) < probability && upper < kWidest) upper *= 2;
  for (int i = 0; i < kHalvings && upper - lower > kPrecision * std::max(-lower, upper); ++i) {
    const double middle = (lower + upper) / 2;
    (below(middle) < probability ? lower : upper) = middle;
  }
  return (lower + upper) / 2;
}

double GainDistribution::mean() const {
  const model::Target& bend = stretch_->bend;
  double sum = 0;
  for (const Component& component : components_)
    for (const Abscissa& each : kHermite)
      sum += component.probability * each.weight * bend.to_log(-(component.mean + each.place * component.sd));
  return bend.to_log(0) - sum;
}

}  // namespace nocturne::search::transfer
