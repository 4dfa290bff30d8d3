#pragma once

/// Do the first steps of a training, dropout and all, lose as the reference's do? Pure.
///
/// Cheaper than training an epoch of the reference for each seed: some fifty steps of many seeds cost less, and
/// give a tighter band. Each loss ℓ of the first steps is judged by itself, then the means over a few stretches of
/// equal length and over all of them. Each is judged as its natural logarithm, by its prediction interval over the
/// seeds (loss_band.hpp). Single steps are many and scatter most, means are few and see best what is wrong everywhere,
/// as a dropout that is missing: either kind gets half of the error probability α, shared equally inside (Bonferroni).
/// A right trainer leaves the band anywhere with a probability of at most α.
///
/// A worker's first step of all is not reported, so the first loss here is that of step 2.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <vector>

#include "measure/gate/loss_band.hpp"
#include "space/run.hpp"

namespace nocturne::measure {

struct FirstLossOptions {
  std::size_t stretches = 5;   ///< no more than there are steps
  double false_alarm = 0.005;  ///< α
};

/// Losses of the first `steps` reported steps, one each. The error is a sentence: too few of them, samples of several
/// steps, a loss that is not finite. REQUIRES: steps > 0.
[[nodiscard]] std::expected<std::vector<double>, std::string> first_losses(const space::Run& run, std::size_t steps);

struct FirstLossJudgement {
  bool inside = true;
  double largest = 0;     ///< largest distance from the mean over the seeds, in half widths: above 1 is outside
  std::int64_t step = 0;  ///< outside: after which it left the band; inside: where it came nearest to the edge
  std::string sentence;   ///< what happened at that step, with the figures
};

/// `references`: the losses of a seed each; `candidate`: as many. The error is a sentence: too few references, lists of
/// other lengths.
[[nodiscard]] std::expected<FirstLossJudgement, std::string> judge_first_losses(
    std::span<const std::vector<double>> references, std::span<const double> candidate,
    const FirstLossOptions& options = {});

}  // namespace nocturne::measure
