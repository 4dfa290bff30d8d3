#pragma once

/// Does this trainer learn as the reference does, dropout and all? The statistical part of the gate. Pure.
///
/// The loss curve of an epoch is condensed into numbers: the means of the steps' losses over some stretches of equal
/// length, over the whole epoch, and the loss of the epoch's last step (its smaller batch, where there is one); of each
/// the natural logarithm, whose scatter over seeds is nearly normal. From reference runs of several seeds each number j
/// gets the prediction interval of one further run,
///
///     mean_j ± t(1 − α / 2m; n − 1) · s_j · sqrt(1 + 1 / n)
///
/// (G. J. Hahn, W. Q. Meeker, Statistical Intervals, Wiley 1991, on the prediction of one future observation), with the
/// error probability α shared by all m numbers (Bonferroni), so that a right trainer leaves the band anywhere with a
/// probability of at most α, however the numbers hang together.

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "space/run.hpp"

namespace nocturne::measure {

/// Losses are positive; one that rounds to zero has no logarithm.
inline constexpr double kSmallestLoss = 1e-12;

/// Seeds below which no band is drawn: the quantile of Student's t grows beyond any use.
inline constexpr std::size_t kFewestReferences = 4;

/// The prediction interval of one further value: mean ± half.
struct Prediction {
  double mean = 0, half = 0;
};

/// What a further value of the same kind lies within, but for the probability `false_alarm` (both sides together).
/// REQUIRES: at least two values.
[[nodiscard]] Prediction predict_next(std::span<const double> values, double false_alarm);

struct BandOptions {
  std::int64_t stretches = 20;  ///< fewer where an epoch has fewer than twice as many samples
  double false_alarm = 0.005;   ///< α
};

/// The numbers of the first epoch: stretches in order, the whole epoch, the last step. The error is a sentence (no
/// whole epoch, a loss that is missing or not finite).
[[nodiscard]] std::expected<std::vector<double>, std::string> loss_curve(const space::Run& run,
                                                                         std::int64_t stretches = 20);

struct BandJudgement {
  bool inside = true;
  double largest = 0;    ///< distance from the reference's mean, in half widths of the band: above 1 it is outside
  std::string sentence;  ///< where that is, with the figures
};

/// The error is a sentence: too few references, or curves that do not fit together. REQUIRES: all ended ok.
[[nodiscard]] std::expected<BandJudgement, std::string> judge_losses(std::span<const space::Run> references,
                                                                     const space::Run& candidate,
                                                                     const BandOptions& options = {});

struct AccuracyOptions {
  double margin_points = 0.5;  ///< so much lower an accuracy, in percent of the images, is accepted
  double false_alarm = 0.005;  ///< probability of calling one inferior that is lower by just the margin
};

/// How much less the candidate has learnt, in points (percent of the images).
struct AccuracyDifference {
  double lower = 0;                  ///< baseline − candidate: above 0 the candidate is the worse
  double at_least = 0, at_most = 0;  ///< its interval, with an error probability of `false_alarm` on each side
  bool inferior = false;             ///< by more than the margin: the whole interval lies beyond it
  std::string sentence{};            ///< with both accuracies and the interval
};

/// Uses the binomial error of both. Their images are the same ones, so the true error is smaller.
[[nodiscard]] AccuracyDifference compare_accuracy(const space::Accuracy& baseline, const space::Accuracy& candidate,
                                                  const AccuracyOptions& options = {});

}  // namespace nocturne::measure
