#pragma once

/// Who may be the winner, and who is. Pure.
///
/// The smallest of many noisy estimates is smaller than the truth: its between-process spread is part of why it was the
/// smallest. So the trials that are too close to it to tell are measured again, in pairs with it, and the winner is
/// chosen from those pairs alone; its gain is then reported from other, fresh pairs.

#include <cstddef>
#include <span>
#include <vector>

#include "db/records.hpp"

namespace nocturne::tuner {

/// Standard deviation of the log of one measurement, between processes that run one after the other. Processes
/// differ by 3 to 10 % in their between-process spread, on virtual machines rather more.
inline constexpr double kProcessSd = 0.05;

/// Whether two trials of the same time would often look as different as these two estimates do: less than two standard
/// errors apart, the between-process spread included.
[[nodiscard]] bool within_noise(const space::Estimate& a, const space::Estimate& b, double process_sd = kProcessSd);

/// Indices into `trials` of those that may be the best, the one with the smallest estimate (the *champion*) first,
/// `most` at most. A trial may be the best where its estimate is within two standard errors of the smallest, the
/// between-process spread of the processes included. Only trials that ended Ok with an estimate count; empty where
/// there is none. `process_sd`: of this machine, where its noise is known.
[[nodiscard]] std::vector<std::size_t> choose_finalists(std::span<const db::StoredTrial> trials, std::size_t most,
                                                        double process_sd = kProcessSd);

struct Contender {
  std::vector<double> ratios;  ///< ln(T_champion / T_this) of each pair; of the champion itself: empty
  std::size_t changes = 0;     ///< parameters in which it differs from the default
};

/// Index of the winner: the fastest by the mean of its pairs, or, among those that cannot be told from it (one pooled
/// standard error, or `margin_percent`, whichever is more), the one with the fewest changes, then the faster one.
/// REQUIRES: contenders.front() is the champion.
[[nodiscard]] std::size_t choose_winner(std::span<const Contender> contenders, double margin_percent);

}  // namespace nocturne::tuner
