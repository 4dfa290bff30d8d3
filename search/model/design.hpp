#pragma once

/// The trials that carry a model, and the terms of any point's covariance with them.

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "search/model/covariance.hpp"
#include "search/model/level_kernel.hpp"
#include "space/lattice.hpp"

namespace nocturne::search::model {

// The level kernels between every level of every parameter and the trials: contiguous in the trials, so that the
// covariance of a candidate with all trials is a sum and a product of rows.

/// Rows are padded with zeros to a multiple of kLanes.
class TrialTable {
 public:
  static constexpr std::size_t kLanes = 8;

  explicit TrialTable(const LevelKernels& kernels) : kernels_(&kernels) {}

  void append(space::Point point);
  void truncate(std::size_t size);
  [[nodiscard]] std::size_t size() const { return size_; }
  /// size() rounded up to kLanes.
  [[nodiscard]] std::size_t padded() const { return (size_ + kLanes - 1) / kLanes * kLanes; }
  [[nodiscard]] const float* covariance(std::size_t row) const { return covariance_.data() + row * capacity_; }
  [[nodiscard]] const float* closeness(std::size_t row) const { return closeness_.data() + row * capacity_; }
  [[nodiscard]] const LevelKernels& kernels() const { return *kernels_; }

 private:
  void reserve(std::size_t capacity);

  const LevelKernels* kernels_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::vector<float> covariance_;
  std::vector<float> closeness_;
};

/// A physical covariate: a number for each point, known in advance.
struct Feature {
  std::string name;  ///< "log(batch)", "log(operations / threads)"
  std::function<double(space::Point)> value;
};

/// Features are standardised over uniform draws from the lattice.
class Design {
 public:
  Design(space::Lattice& lattice, std::vector<Feature> features);
  Design(const Design&) = delete;  // the table refers to the kernels
  Design& operator=(const Design&) = delete;

  void append(space::Point point);
  void truncate(std::size_t size);
  [[nodiscard]] std::size_t size() const { return points_.size(); }
  [[nodiscard]] std::size_t padded() const { return table_.padded(); }
  [[nodiscard]] space::Point point(std::size_t trial) const { return points_[trial]; }
  /// Main effects, then features.
  [[nodiscard]] std::size_t weights() const { return kernels_.parameters() + features_.size(); }
  [[nodiscard]] const LevelKernels& kernels() const { return kernels_; }
  [[nodiscard]] const TrialTable& table() const { return table_; }

  /// Rows valid until the next append().
  void terms(space::Point point, const Scales& scales, PointTerms& result) const;
  /// The covariance of any two points, without noise.
  [[nodiscard]] double covariance(space::Point a, space::Point b, const Scales& scales) const;
  /// covariance(point, point), faster: a proposal needs it for thousands of candidates.
  [[nodiscard]] double variance(space::Point point, const Scales& scales) const;

 private:
  [[nodiscard]] double feature(std::size_t index, space::Point point) const;

  LevelKernels kernels_;
  TrialTable table_;
  space::PointList points_;
  std::vector<Feature> features_;
  std::vector<double> means_, spreads_;           // of each feature
  std::vector<std::vector<float>> feature_rows_;  // of each feature: standardised, by trial, padded
};

}  // namespace nocturne::search::model
