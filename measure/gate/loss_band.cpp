#include "measure/gate/loss_band.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "space/moments.hpp"

namespace nocturne::measure {
namespace {

struct RunningMean {
  double sum = 0;
  std::int64_t count = 0;
  void add(double value) { sum += value, ++count; }
  [[nodiscard]] double log() const { return std::log(std::max(kSmallestLoss, sum / static_cast<double>(count))); }
};

std::vector<space::Sample> first_epoch(const space::Run& run) {
  if (run.epochs.empty() || run.samples.empty()) return {};
  const space::Sample& last = run.samples.back();
  const std::int64_t steps = (last.first_step + last.steps) / std::ssize(run.epochs);
  std::vector<space::Sample> samples;
  for (const space::Sample& sample : run.samples)
    if (sample.first_step + sample.steps <= steps) samples.push_back(sample);
  return samples;
}

std::string number_name(std::size_t index, std::size_t count) {
  if (index + 1 == count) return "in the epoch's last step";
  if (index + 2 == count) return "over the epoch";
  const auto stretches = static_cast<double>(count - 2);
  return fmt::format("between {:.0f} and {:.0f} % of the epoch", 100 * static_cast<double>(index) / stretches,
                     100 * static_cast<double>(index + 1) / stretches);
}

}  // namespace

std::expected<std::vector<double>, std::string> loss_curve(const space::Run& run, std::int64_t stretches) {
  const std::vector<space::Sample> samples = first_epoch(run);
  if (samples.empty()) return std::unexpected("the run has no whole epoch");
  const std::int64_t count = std::clamp<std::int64_t>(std::ssize(samples) / 2, 1, stretches);
  std::vector<RunningMean> means(static_cast<std::size_t>(count) + 2);
  for (std::int64_t i = 0; i < std::ssize(samples); ++i) {
    const space::Sample& sample = samples[static_cast<std::size_t>(i)];
    if (!sample.loss || !std::isfinite(*sample.loss)) {
      return std::unexpected(
          fmt::format("the loss of step {} is missing, or not finite", sample.first_step + sample.steps));
    }
    means[static_cast<std::size_t>(i * count / std::ssize(samples))].add(*sample.loss);
    means[means.size() - 2].add(*sample.loss);
  }
  means.back().add(*samples.back().loss);
  std::vector<double> curve;
  for (const RunningMean& mean : means) curve.push_back(mean.log());
  return curve;
}

std::expected<BandJudgement, std::string> judge_losses(std::span<const space::Run> references,
                                                       const space::Run& candidate, const BandOptions& options) {
  if (references.size() < kFewestReferences) {
    return std::unexpected(fmt::format("{} runs of the reference are too few for a band, {} are needed",
                                       references.size(), kFewestReferences));
  }
  const auto found = loss_curve(candidate, options.stretches);
  if (!found) return std::unexpected(found.error());
  std::vector<std::vector<double>> curves;
  for (const space::Run& run : references) {
    auto curve = loss_curve(run, options.stretches);
    if (!curve) return std::unexpected("the reference: " + curve.error());
    if (curve->size() != found->size()) return std::unexpected("the reference's epoch has another number of samples");
    curves.push_back(std::move(*curve));
  }

  const double each = options.false_alarm / static_cast<double>(found->size());
  BandJudgement judgement;
  for (std::size_t j = 0; j < found->size(); ++j) {
    std::vector<double> values;
    for (const auto& curve : curves) values.push_back(curve[j]);
    const auto [mean, half] = predict_next(values, each);
    const double distance = std::abs((*found)[j] - mean);
    // References that agree to the last bit leave no room but rounding's.
    const double share = distance / std::max(half, 1e-9);
    if (j > 0 && share <= judgement.largest) continue;
    judgement.largest = share;
    judgement.inside = share <= 1;
    judgement.sentence = fmt::format("{} its mean loss is {:.4g}; {} seeds of the reference say {:.4g} to {:.4g}",
                                     number_name(j, found->size()), std::exp((*found)[j]), curves.size(),
                                     std::exp(mean - half), std::exp(mean + half));
  }
  return judgement;
}

Prediction predict_next(std::span<const double> values, double false_alarm) {
  const space::Moments moments = space::moments_of(values);
  const auto n = static_cast<double>(moments.count);
  const boost::math::students_t_distribution<double> student(n - 1);
  const double factor = boost::math::quantile(student, 1 - false_alarm / 2) * std::sqrt(1 + 1 / n);
  return {.mean = moments.mean, .half = factor * moments.sd()};
}

AccuracyDifference compare_accuracy(const space::Accuracy& baseline, const space::Accuracy& candidate,
                                    const AccuracyOptions& options) {
  const auto variance = [](const space::Accuracy& each) {
    return each.accuracy * (1 - each.accuracy) / static_cast<double>(std::max<std::int64_t>(1, each.examples));
  };
  const double error = 100 *
                       boost::math::quantile(boost::math::normal_distribution<double>(), 1 - options.false_alarm) *
                       std::sqrt(variance(baseline) + variance(candidate));
  const double lower = 100 * (baseline.accuracy - candidate.accuracy);
  AccuracyDifference difference{.lower = lower, .at_least = lower - error, .at_most = lower + error, .inferior = false};
  difference.inferior = difference.at_least > options.margin_points;
  difference.sentence = fmt::format(
      "its test accuracy is {:.2f} %, the default's {:.2f} %: lower by {:.2f} points ({:g} % interval {:.2f} to "
      "{:.2f}), {:g} are allowed",
      100 * candidate.accuracy, 100 * baseline.accuracy, lower, 100 * (1 - 2 * options.false_alarm),
      difference.at_least, difference.at_most, options.margin_points);
  return difference;
}

}  // namespace nocturne::measure
