#pragma once

/// The Gaussian posterior given scales: what the trials say about every point. Grows by a trial at a time.
///
/// With L Lᵀ = K + noise and its inverse kept, a new trial adds a row to L⁻¹ in O(n²), and a prediction is
/// mean = k' alpha, variance = k(x, x) - |L⁻¹ k|² (Rasmussen and Williams, equations 2.25 and 2.26).

#include <cstddef>
#include <span>
#include <vector>

#include "search/model/dense.hpp"
#include "search/model/design.hpp"
#include "search/model/scales.hpp"

namespace nocturne::search::model {

/// Refers to a design, which grows beside it. Not thread-safe.
class Posterior {
 public:
  explicit Posterior(const Design& design) : design_(&design) {}

  void clear() { truncate(0); }
  /// Takes in the design's next trials, noise variance scales.noise * noise_factors[t]. REQUIRES: the scales are those
  /// of the trials before, or there are none.
  void extend(const Scales& scales, std::span<const double> noise_factors);
  void truncate(std::size_t size) {
    size_ = size;
    precision_.clear();
  }
  void set_values(std::span<const double> values);
  [[nodiscard]] std::size_t size() const { return size_; }
  /// K⁻¹ y.
  [[nodiscard]] std::span<const double> alpha() const { return alpha_; }

  struct Moments {
    double mean = 0;
    double variance = 0;
  };
  [[nodiscard]] Moments at(space::Point point, const Scales& scales);
  /// Means and standard deviations of many points.
  void at(const space::PointList& points, const Scales& scales, std::vector<float>& means, std::vector<float>& sds);
  struct Difference {
    Moments moments;
    std::vector<double> without;  ///< its mean if a trial were not there, by trial
  };
  /// Posterior of the mean of f(to[i]) - f(from[i]). REQUIRES: as many of both, one at least.
  [[nodiscard]] Difference mean_difference(const space::PointList& from, const space::PointList& to,
                                           const Scales& scales);
  [[nodiscard]] double mean(space::Point point, const Scales& scales);
  void means(const space::PointList& points, const Scales& scales, std::vector<float>& result);
  /// Mean and explained variance of any linear functional, given its covariances with the trials.
  [[nodiscard]] Moments explain(std::span<const double> covariances) const;
  /// Residual and variance of each trial given all others, its own noise included (equations 5.10 to 5.12).
  [[nodiscard]] std::vector<Moments> leave_one_out(std::span<const double> values) const;

 private:
  /// The diagonal of K⁻¹, made when it is first asked for: differences are asked for by the thousand.
  [[nodiscard]] std::span<const double> precision() const;

  const Design* design_;
  std::size_t size_ = 0;
  SquareMatrix inverse_;  // L⁻¹
  std::vector<double> alpha_;
  mutable std::vector<double> precision_;  // empty: not made
  std::size_t stride_ = 0;
  std::vector<float> inverse_floats_, alpha_floats_;
  std::vector<float> rows_, block_;  // candidates' covariances, by candidate and by trial
  PointTerms terms_;
};

}  // namespace nocturne::search::model
