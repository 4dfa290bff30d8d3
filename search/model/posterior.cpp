#include "search/model/posterior.hpp"

#include <algorithm>
#include <cmath>

namespace nocturne::search::model {
namespace {

constexpr double kLeastVariance = 1e-6;  // float covariances are no more accurate

}  // namespace

void Posterior::extend(const Scales& scales, std::span<const double> noise_factors) {
  const auto wanted = design_->size();
  precision_.clear();
  if (stride_ < design_->padded()) {
    const auto stride = 2 * design_->padded();
    std::vector<float> larger(stride * stride);
    for (std::size_t i = 0; i < size_; ++i) {
      std::copy_n(inverse_floats_.begin() + static_cast<std::ptrdiff_t>(i * stride_), size_,
                  larger.begin() + static_cast<std::ptrdiff_t>(i * stride));
    }
    inverse_floats_ = std::move(larger);
    stride_ = stride;
  }
  inverse_.grow(wanted);
  rows_.resize(std::max(rows_.size(), design_->padded()));
  std::vector<double> covariances(wanted), solved(wanted);
  for (; size_ < wanted; ++size_) {
    const auto point = design_->point(size_);
    design_->terms(point, scales, terms_);
    covariance_row(terms_, scales, design_->padded(), rows_.data());
    double* row = inverse_.row(size_);
    std::fill_n(row, wanted, 0.0);
    double explained = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      double sum = 0;
      for (std::size_t t = 0; t <= i; ++t) sum += inverse_.row(i)[t] * static_cast<double>(rows_[t]);
      explained += sum * sum;
      for (std::size_t t = 0; t <= i; ++t) row[t] -= sum * inverse_.row(i)[t];
    }
    const double noise = scales.noise * noise_factors[size_];
    const double rest = std::max({design_->variance(point, scales) + noise - explained, noise, kLeastVariance});
    const double scale = 1 / std::sqrt(rest);
    for (std::size_t t = 0; t < size_; ++t) row[t] *= scale;
    row[size_] = scale;
    float* const floats = inverse_floats_.data() + size_ * stride_;
    std::fill_n(floats, stride_, 0.0F);
    for (std::size_t t = 0; t <= size_; ++t) floats[t] = static_cast<float>(row[t]);
  }
}

void Posterior::set_values(std::span<const double> values) {
  alpha_.assign(size_, 0);
  for (std::size_t i = 0; i < size_; ++i) {
    const double* row = inverse_.row(i);
    double u = 0;
    for (std::size_t t = 0; t <= i; ++t) u += row[t] * values[t];
    for (std::size_t t = 0; t <= i; ++t) alpha_[t] += row[t] * u;
  }
  alpha_floats_.assign(alpha_.begin(), alpha_.end());
}

Posterior::Moments Posterior::explain(std::span<const double> covariances) const {
  Moments moments;
  for (std::size_t i = 0; i < size_; ++i) {
    double sum = 0;
    for (std::size_t t = 0; t <= i; ++t) sum += inverse_.row(i)[t] * covariances[t];
    moments.variance += sum * sum;
    moments.mean += alpha_[i] * covariances[i];
  }
  return moments;
}

Posterior::Moments Posterior::at(space::Point point, const Scales& scales) {
  design_->terms(point, scales, terms_);
  rows_.resize(std::max(rows_.size(), design_->padded()));
  covariance_row(terms_, scales, design_->padded(), rows_.data());
  const std::vector<double> covariances(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(size_));
  auto moments = explain(covariances);
  moments.variance = std::max(design_->variance(point, scales) - moments.variance, kLeastVariance);
  return moments;
}

Posterior::Difference Posterior::mean_difference(const space::PointList& from, const space::PointList& to,
                                                 const Scales& scales) {
  std::vector<double> covariances(size_);
  rows_.resize(std::max(rows_.size(), design_->padded()));
  const double share = 1 / static_cast<double>(to.size());
  const auto add = [&](space::Point point, double factor) {
    design_->terms(point, scales, terms_);
    covariance_row(terms_, scales, design_->padded(), rows_.data());
    for (std::size_t t = 0; t < size_; ++t) covariances[t] += factor * static_cast<double>(rows_[t]);
  };
  double prior = 0;
  for (std::size_t i = 0; i < to.size(); ++i) {
    add(to[i], share);
    add(from[i], -share);
    for (std::size_t j = 0; j < to.size(); ++j) {
      prior += design_->covariance(to[i], to[j], scales) + design_->covariance(from[i], from[j], scales) -
               design_->covariance(to[i], from[j], scales) - design_->covariance(from[i], to[j], scales);
    }
  }
  Difference result{.moments = explain(covariances), .without = {}};
  result.moments.variance = std::max(prior * share * share - result.moments.variance, 0.0);
  // c' K⁻¹ y is sum_t w_t y_t with w = K⁻¹ c. Without trial t, its value is what all others predict of it (equation
  // 5.12): y_t falls by alpha_t / (K⁻¹)_tt.
  std::vector<double> weights(size_);
  for (std::size_t i = 0; i < size_; ++i) {
    double sum = 0;
    for (std::size_t t = 0; t <= i; ++t) sum += inverse_.row(i)[t] * covariances[t];
    for (std::size_t t = 0; t <= i; ++t) weights[t] += inverse_.row(i)[t] * sum;
  }
  const auto diagonal = precision();
  for (std::size_t t = 0; t < size_; ++t)
    result.without.push_back(result.moments.mean - weights[t] * alpha_[t] / diagonal[t]);
  return result;
}

void Posterior::at(const space::PointList& points, const Scales& scales, std::vector<float>& means,
                   std::vector<float>& sds) {
  const auto padded = design_->padded();
  means.resize(points.size());
  sds.resize(points.size());
  rows_.resize(std::max(rows_.size(), kBlock * padded));
  block_.resize(kBlock * padded);
  for (std::size_t begin = 0; begin < points.size(); begin += kBlock) {
    const auto count = std::min(kBlock, points.size() - begin);
    for (std::size_t c = 0; c < count; ++c) {
      design_->terms(points[begin + c], scales, terms_);
      covariance_row(terms_, scales, padded, rows_.data() + c * padded);
    }
    for (std::size_t t = 0; t < size_; ++t)
      for (std::size_t c = 0; c < kBlock; ++c) block_[t * kBlock + c] = rows_[c * padded + t];
    float mean[kBlock], explained[kBlock] = {};
    explain_block(inverse_floats_.data(), stride_, 0, size_, alpha_floats_.data(), block_.data(), mean, explained);
    for (std::size_t c = 0; c < count; ++c) {
      const double variance = design_->variance(points[begin + c], scales) - static_cast<double>(explained[c]);
      means[begin + c] = mean[c];
      sds[begin + c] = static_cast<float>(std::sqrt(std::max(variance, kLeastVariance)));
    }
  }
}

void Posterior::take_in_new_trials(FollowedPoints& followed, const Scales& scales) {
  constexpr std::size_t kRoom = 64;  // trials more than there are: nothing is moved while a few are added
  const auto count = followed.points_.size();
  const auto blocks = (count + kBlock - 1) / kBlock;
  if (followed.build_ != build_ || followed.trials_ > size_ || followed.capacity_ < size_) {
    followed.build_ = build_;
    followed.trials_ = 0;
    followed.capacity_ = size_ + kRoom;
    followed.covariances_.assign(blocks * followed.capacity_ * kBlock, 0);
    followed.explained_.assign(blocks * kBlock, 0);
  }
  if (followed.trials_ == size_) return;
  const auto begin = followed.trials_ / TrialTable::kLanes * TrialTable::kLanes;  // rows are read in whole lanes
  const auto length = design_->padded() - begin;
  rows_.resize(std::max(rows_.size(), length));
  for (std::size_t c = 0; c < count; ++c) {
    design_->terms(followed.points_[c], scales, terms_);
    for (Term& term : terms_.terms) term.row += begin;
    for (const float*& row : terms_.closeness) row += begin;
    covariance_row(terms_, scales, length, rows_.data());
    float* const block = followed.covariances_.data() + c / kBlock * followed.capacity_ * kBlock;
    for (auto t = followed.trials_; t < size_; ++t) block[t * kBlock + c % kBlock] = rows_[t - begin];
  }
}

void Posterior::at(FollowedPoints& followed, const Scales& scales, std::vector<float>& means, std::vector<float>& sds) {
  take_in_new_trials(followed, scales);
  const auto count = followed.points_.size();
  means.resize(count);
  sds.resize(count);
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    float mean[kBlock];
    float* const explained = followed.explained_.data() + begin;
    explain_block(inverse_floats_.data(), stride_, followed.trials_, size_, alpha_floats_.data(),
                  followed.covariances_.data() + begin * followed.capacity_, mean, explained);
    for (std::size_t c = begin; c < std::min(begin + kBlock, count); ++c) {
      const double variance =
          design_->variance(followed.points_[c], scales) - static_cast<double>(explained[c - begin]);
      means[c] = mean[c - begin];
      sds[c] = static_cast<float>(std::sqrt(std::max(variance, kLeastVariance)));
    }
  }
  followed.trials_ = size_;
}

double Posterior::mean(space::Point point, const Scales& scales) {
  design_->terms(point, scales, terms_);
  rows_.resize(std::max(rows_.size(), design_->padded()));
  covariance_row(terms_, scales, design_->padded(), rows_.data());
  double sum = 0;
  for (std::size_t t = 0; t < size_; ++t) sum += static_cast<double>(rows_[t]) * alpha_[t];
  return sum;
}

void Posterior::means(const space::PointList& points, const Scales& scales, std::vector<float>& result) {
  const auto padded = design_->padded();
  rows_.resize(std::max(rows_.size(), padded));
  result.resize(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    design_->terms(points[i], scales, terms_);
    covariance_row(terms_, scales, padded, rows_.data());
    float sum = 0;
    for (std::size_t t = 0; t < size_; ++t) sum += rows_[t] * alpha_floats_[t];
    result[i] = sum;
  }
}

std::span<const double> Posterior::precision() const {
  if (precision_.empty()) {
    precision_.resize(size_);
    for (std::size_t i = 0; i < size_; ++i)
      for (std::size_t t = 0; t <= i; ++t) precision_[t] += inverse_.row(i)[t] * inverse_.row(i)[t];
  }
  return precision_;
}

std::vector<Posterior::Moments> Posterior::leave_one_out(std::span<const double> values) const {
  const auto diagonal = precision();
  std::vector<Moments> result(size_);
  for (std::size_t t = 0; t < size_; ++t)
    result[t] = {.mean = values[t] - alpha_[t] / diagonal[t], .variance = 1 / diagonal[t]};
  return result;
}

}  // namespace nocturne::search::model
