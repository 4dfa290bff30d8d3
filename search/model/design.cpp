#include "search/model/design.hpp"

#include <algorithm>
#include <cmath>

#include "space/random.hpp"

namespace nocturne::search::model {
namespace {

constexpr int kDraws = 256;  // a mean is then known to a sixteenth of the spread

/// Sums over the terms of two points (covariance.hpp has the formula).
struct Terms {
  double sum = 0;
  double squares = 0;
  void add(double term) {
    sum += term;
    squares += term * term;
  }
  [[nodiscard]] double covariance(const Scales& scales, double closeness) const {
    return scales.intercept + sum + scales.pairs * 0.5 * (sum * sum - squares) + scales.local * closeness;
  }
};

}  // namespace

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
  for (std::size_t row = 0; row < kernels_->rows(); ++row)
    for (auto t = size; t < size_; ++t) covariance_[row * capacity_ + t] = closeness_[row * capacity_ + t] = 0;
  size_ = size;
}

Design::Design(space::Lattice& lattice, std::vector<Feature> features)
    : kernels_(lattice),
      table_(kernels_),
      points_(lattice.width()),
      features_(std::move(features)),
      means_(features_.size()),
      spreads_(features_.size(), 1),
      feature_rows_(features_.size()) {
  space::Random random(0);
  std::vector<space::Level> point(lattice.width());
  std::vector<double> squares(features_.size());
  int drawn = 0;
  while (!features_.empty() && drawn < kDraws && lattice.sample(random, point)) {
    ++drawn;
    for (std::size_t f = 0; f < features_.size(); ++f) {  // Welford's update
      const double value = features_[f].value(point);
      const double step = value - means_[f];
      means_[f] += step / drawn;
      squares[f] += step * (value - means_[f]);
    }
  }
  for (std::size_t f = 0; f < features_.size(); ++f) {
    const double spread = drawn > 1 ? std::sqrt(squares[f] / drawn) : 0;
    if (spread > 1e-9) spreads_[f] = spread;
  }
}

double Design::feature(std::size_t index, space::Point point) const {
  return (features_[index].value(point) - means_[index]) / spreads_[index];
}

void Design::append(space::Point point) {
  table_.append(point);
  points_.push_back(point);
  for (std::size_t f = 0; f < features_.size(); ++f) {
    feature_rows_[f].resize(table_.padded());
    feature_rows_[f][points_.size() - 1] = static_cast<float>(feature(f, point));
  }
}

void Design::truncate(std::size_t size) {
  table_.truncate(size);
  while (points_.size() > size) points_.pop_back();
  for (auto& row : feature_rows_) {
    row.resize(size);
    row.resize(table_.padded());
  }
}

void Design::terms(space::Point point, const Scales& scales, PointTerms& result) const {
  result.terms.clear();
  result.closeness.clear();
  for (std::size_t i = 0; i < kernels_.parameters(); ++i) {
    const auto row = kernels_.row(i, point[i]);
    result.terms.push_back({.row = table_.covariance(row), .weight = static_cast<float>(scales.weights[i])});
    result.closeness.push_back(table_.closeness(row));
  }
  for (std::size_t f = 0; f < features_.size(); ++f) {
    const double weight = scales.weights[kernels_.parameters() + f] * feature(f, point);
    result.terms.push_back({.row = feature_rows_[f].data(), .weight = static_cast<float>(weight)});
  }
}

double Design::variance(space::Point point, const Scales& scales) const {
  Terms terms;
  for (std::size_t i = 0; i < kernels_.parameters(); ++i) {
    const auto own = kernels_.row(i, point[i]) - kernels_.first_row(i);
    terms.add(scales.weights[i] * static_cast<double>(kernels_.covariance(i, own, own)));
  }
  for (std::size_t f = 0; f < features_.size(); ++f) {
    const double value = feature(f, point);
    terms.add(scales.weights[kernels_.parameters() + f] * value * value);
  }
  return terms.covariance(scales, 1);
}

double Design::covariance(space::Point a, space::Point b, const Scales& scales) const {
  Terms terms;
  double closeness = 1;
  for (std::size_t i = 0; i < kernels_.parameters(); ++i) {
    const auto first = kernels_.row(i, a[i]) - kernels_.first_row(i);
    const auto second = kernels_.row(i, b[i]) - kernels_.first_row(i);
    terms.add(scales.weights[i] * static_cast<double>(kernels_.covariance(i, first, second)));
    closeness *= static_cast<double>(kernels_.closeness(i, first, second));
  }
  for (std::size_t f = 0; f < features_.size(); ++f)
    terms.add(scales.weights[kernels_.parameters() + f] * feature(f, a) * feature(f, b));
  return terms.covariance(scales, closeness);
}

}  // namespace nocturne::search::model
