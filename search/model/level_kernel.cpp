#include "search/model/level_kernel.hpp"

#include <algorithm>
#include <cmath>

namespace nocturne::search::model {
namespace {

constexpr double kSmooth = 0.9;      // of a main effect over ordered levels; the rest is each level's own
constexpr double kWideRatio = 4;     // from here ratios matter more than differences
constexpr double kWideFromZero = 8;  // likewise where the least is 0

/// Subtracts row and column means (d is symmetric) and scales to mean diagonal 1.
void centre(std::vector<double>& k, std::size_t n) {
  std::vector<double> means(n);
  double mean = 0;
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b) means[a] += k[a * n + b] / static_cast<double>(n);
    mean += means[a] / static_cast<double>(n);
  }
  double diagonal = 0;
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b) k[a * n + b] += mean - means[a] - means[b];
    diagonal += k[a * n + a] / static_cast<double>(n);
  }
  if (diagonal <= 1e-12) return;  // one level: no effect
  for (auto& each : k) each /= diagonal;
}

}  // namespace

std::vector<double> level_positions(const space::Lattice& lattice, std::size_t parameter) {
  const auto& axis = lattice.axis(parameter);
  std::vector<double> positions(axis.levels);
  for (std::size_t i = 0; i < axis.levels; ++i) positions[i] = static_cast<double>(i);
  if (!axis.numbers.empty()) {
    const auto [least, most] = std::ranges::minmax(axis.numbers);
    const bool by_ratio = least > 0 && (most / least >= kWideRatio || lattice.parameter(parameter).logarithmic);
    const bool from_zero = least == 0 && most >= kWideFromZero;
    for (std::size_t i = 0; i < axis.levels && least >= 0; ++i) {
      const double value = axis.numbers[i];
      positions[i] = by_ratio ? std::log(value) : from_zero ? std::log1p(value) : value;
    }
  }
  const auto [first, last] = std::ranges::minmax(positions);
  for (auto& each : positions) each = last > first ? (each - first) / (last - first) : 0;
  return positions;
}

LevelKernels::LevelKernels(const space::Lattice& lattice) {
  first_.push_back(0);
  for (std::size_t i = 0; i < lattice.width(); ++i) {
    const auto& axis = lattice.axis(i);
    first_.push_back(first_.back() + axis.levels + (axis.conditional ? 1 : 0));
    make(lattice, i);
  }
}

void LevelKernels::make(const space::Lattice& lattice, std::size_t parameter) {
  const auto& axis = lattice.axis(parameter);
  const auto n = levels(parameter);
  const bool smooth = axis.ordered && axis.levels > 2;
  const auto positions = level_positions(lattice, parameter);
  std::vector<double> k(n * n);
  std::vector<float> closeness(n * n);
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b) {
      const bool both_active = a < axis.levels && b < axis.levels;
      const double distance = a == b ? 0 : axis.ordered && both_active ? std::abs(positions[a] - positions[b]) : 1;
      const double same = a == b ? 1 : 0;
      k[a * n + b] = smooth ? kSmooth * std::exp(-distance) + (1 - kSmooth) * same : same;
      closeness[a * n + b] = static_cast<float>(std::exp(-distance));
    }
  }
  centre(k, n);
  covariance_.emplace_back(k.begin(), k.end());
  closeness_.push_back(std::move(closeness));
}

}  // namespace nocturne::search::model
