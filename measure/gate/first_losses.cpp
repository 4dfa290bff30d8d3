#include "measure/gate/first_losses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nocturne::measure {
namespace {

/// The number of the first reported step: one was trained before it.
constexpr std::size_t kFirstReported = 2;

/// Steps whose mean loss is one number of the band: [begin, end) of the list.
struct Stretch {
  std::size_t begin = 0, end = 0;
  double false_alarm = 0;  ///< its own share

  [[nodiscard]] double log_mean(std::span<const double> losses) const {
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += losses[i];
    return std::log(std::max(kSmallestLoss, sum / static_cast<double>(end - begin)));
  }
  [[nodiscard]] std::int64_t last_step() const { return static_cast<std::int64_t>(end - 1 + kFirstReported); }
  [[nodiscard]] std::string name() const {
    if (end - begin == 1) return fmt::format("the loss of step {}", last_step());
    return fmt::format("the mean loss of steps {} to {}", begin + kFirstReported, last_step());
  }
};

/// By the step after which they are known; a single step before a mean.
std::vector<Stretch> stretches_of(std::size_t steps, const FirstLossOptions& options) {
  std::vector<Stretch> all;
  for (std::size_t i = 0; i < steps; ++i)
    all.push_back({.begin = i, .end = i + 1, .false_alarm = options.false_alarm / 2 / static_cast<double>(steps)});
  const std::size_t parts = std::clamp<std::size_t>(options.stretches, 1, steps);
  const double of_a_mean = options.false_alarm / 2 / static_cast<double>(parts + 1);
  for (std::size_t i = 0; i < parts; ++i)
    all.push_back({.begin = i * steps / parts, .end = (i + 1) * steps / parts, .false_alarm = of_a_mean});
  all.push_back({.begin = 0, .end = steps, .false_alarm = of_a_mean});
  std::ranges::stable_sort(all, {}, &Stretch::end);
  return all;
}

}  // namespace

std::expected<std::vector<double>, std::string> first_losses(const space::Run& run, std::size_t steps) {
  std::vector<double> losses;
  for (const space::Sample& sample : run.samples) {
    if (losses.size() == steps) break;
    if (sample.steps != 1) return std::unexpected("its samples are of several steps each");
    if (!sample.loss || !std::isfinite(*sample.loss))
      return std::unexpected(fmt::format("the loss of step {} is missing, or not finite", sample.first_step + 1));
    losses.push_back(*sample.loss);
  }
  if (losses.size() < steps)
    return std::unexpected(fmt::format("{} steps are reported, {} are needed", losses.size(), steps));
  return losses;
}

std::expected<FirstLossJudgement, std::string> judge_first_losses(std::span<const std::vector<double>> references,
                                                                  std::span<const double> candidate,
                                                                  const FirstLossOptions& options) {
  if (references.size() < kFewestReferences) {
    return std::unexpected(fmt::format("{} runs of the reference are too few for a band, {} are needed",
                                       references.size(), kFewestReferences));
  }
  const auto other_length = [&](const std::vector<double>& losses) { return losses.size() != candidate.size(); };
  if (candidate.empty() || std::ranges::any_of(references, other_length))
    return std::unexpected("the reference's losses are of another number of steps");
  FirstLossJudgement judgement;
  for (const Stretch& stretch : stretches_of(candidate.size(), options)) {
    std::vector<double> values;
    for (const std::vector<double>& losses : references) values.push_back(stretch.log_mean(losses));
    const auto [mean, half] = predict_next(values, stretch.false_alarm);
    const double found = stretch.log_mean(candidate);
    // References that agree to the last bit leave no room but rounding's.
    const double share = std::abs(found - mean) / std::max(half, 1e-9);
    const bool leaves = judgement.inside && share > 1;
    if (leaves || (judgement.inside && (judgement.step == 0 || share > judgement.largest))) {
      judgement.step = stretch.last_step();
      judgement.sentence =
          fmt::format("{} is {:.4g}; {} seeds of the reference say {:.4g} to {:.4g}", stretch.name(), std::exp(found),
                      references.size(), std::exp(mean - half), std::exp(mean + half));
    }
    if (leaves) judgement.inside = false;
    judgement.largest = std::max(judgement.largest, share);
  }
  return judgement;
}

}  // namespace nocturne::measure
