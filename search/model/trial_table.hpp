#pragma once

/// The level kernels between every level of every parameter and the trials: contiguous in the trials, so that the
/// covariance of a candidate with all trials is a sum and a product of rows.

#include <cstddef>
#include <span>
#include <vector>

#include "search/model/level_kernel.hpp"
#include "space/lattice.hpp"

namespace nocturne::search::model {

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

}  // namespace nocturne::search::model
