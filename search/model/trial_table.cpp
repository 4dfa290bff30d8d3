#include "search/model/trial_table.hpp"

#include <algorithm>

namespace nocturne::search::model {

void TrialTable::reserve(std::size_t capacity) {
  const auto move = [&](std::vector<float>& rows) {
    std::vector<float> larger(kernels_->rows() * capacity);
    for (std::size_t row = 0; row < kernels_->rows() && size_ > 0; ++row) {
      std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(row * capacity_), size_,
                  larger.begin() + static_cast<std::ptrdiff_t>(row * capacity));
    }
    rows = std::move(larger);
  };
  move(covariance_);
  move(closeness_);
  capacity_ = capacity;
}

void TrialTable::append(space::Point point) {
  if (size_ == capacity_) reserve(std::max<std::size_t>(4 * kLanes, 2 * capacity_));
  for (std::size_t i = 0; i < kernels_->parameters(); ++i) {
    const auto first = kernels_->first_row(i);
    const auto own = kernels_->row(i, point[i]) - first;
    for (std::size_t level = 0; level < kernels_->levels(i); ++level) {
      covariance_[(first + level) * capacity_ + size_] = kernels_->covariance(i, level, own);
      closeness_[(first + level) * capacity_ + size_] = kernels_->closeness(i, level, own);
    }
  }
  ++size_;
}

void TrialTable::truncate(std::size_t size) {
  for (std::size_t row = 0; row < kernels_->rows(); ++row) {
    for (auto t = size; t < size_; ++t) covariance_[row * capacity_ + t] = closeness_[row * capacity_ + t] = 0;
  }
  size_ = size;
}

}  // namespace nocturne::search::model
