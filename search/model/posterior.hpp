#pragma once

/// The Gaussian posterior given scales: what the trials say about every point. Grows by a trial at a time.
///
/// With L Lᵀ = K + noise and its inverse kept, a new trial adds a row to L⁻¹ in O(n²), and a prediction is
/// mean = k' alpha, variance = k(x, x) - |L⁻¹ k|² (Rasmussen and Williams, equations 2.25 and 2.26).

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "search/model/covariance.hpp"
#include "search/model/dense.hpp"
#include "search/model/design.hpp"

namespace nocturne::search::model {

/// Points that are asked for again each time a posterior has grown: what it said of them is kept, so that a trial more
/// costs O(n) a point. A value: a copy goes on from the same state. Valid for a posterior that was truncated since to
/// no fewer trials than it had then, and whose scales are the same; where it was made anew, so is this.
class FollowedPoints {
 public:
  explicit FollowedPoints(space::PointList points) : points_(std::move(points)) {}
  [[nodiscard]] const space::PointList& points() const { return points_; }

 private:
  friend class Posterior;
  space::PointList points_;
  std::size_t build_ = 0;           // of the posterior; 0: none
  std::size_t trials_ = 0;          // taken in
  std::size_t capacity_ = 0;        // of trials
  std::vector<float> covariances_;  // by block of points, trial, point of the block
  std::vector<float> explained_;    // by point
};

/// Refers to a design, which grows beside it. Not thread-safe.
class Posterior {
 public:
  explicit Posterior(const Design& design) : design_(&design) {}

  void clear() {
    truncate(0);
    ++build_;
  }
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
  /// The same, to the last bit.
  void at(FollowedPoints& points, const Scales& scales, std::vector<float>& means, std::vector<float>& sds);
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
  /// Covariances with trials that `points` has not seen yet.
  void take_in_new_trials(FollowedPoints& points, const Scales& scales);
  /// The diagonal of K⁻¹, made when it is first asked for: differences are asked for by the thousand.
  [[nodiscard]] std::span<const double> precision() const;

  const Design* design_;
  std::size_t size_ = 0;
  std::size_t build_ = 1;  // counts how often it was begun anew
  SquareMatrix inverse_;   // L⁻¹
  std::vector<double> alpha_;
  mutable std::vector<double> precision_;  // empty: not made
  std::size_t stride_ = 0;
  std::vector<float> inverse_floats_, alpha_floats_;
  std::vector<float> rows_, block_;  // candidates' covariances, by candidate and by trial
  PointTerms terms_;
};

}  // namespace nocturne::search::model
