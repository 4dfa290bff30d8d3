#pragma once

/// Who may be the winner, and who is. Pure.
///
/// The smallest of many noisy estimates is smaller than the truth: its between-process spread is part of why it was the
/// smallest. So finalists are those that may be the fastest by what all trials say of them (beliefs.hpp), and they are
/// measured against each other in pairs (measure/comparison/race.hpp); the winner's gain is then reported from other,
/// fresh pairs.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "db/records.hpp"
#include "measure/comparison/race.hpp"
#include "tuner/campaign/finals/beliefs.hpp"

namespace nocturne::tuner {

/// Standard deviation of the log of one measurement, between processes that run one after the other. Processes
/// differ by 3 to 10 % in their between-process spread, on virtual machines rather more.
inline constexpr double kProcessSd = 0.05;

/// Whether two trials of the same time would often look as different as these two estimates do: less than two standard
/// errors apart, the between-process spread included.
[[nodiscard]] bool within_noise(const space::Estimate& a, const space::Estimate& b, double process_sd = kProcessSd);

struct Finalist {
  std::size_t trial = 0;  ///< its place among the trials
  Belief belief;
  std::size_t changes = 0;  ///< parameters in which it differs from the default
};

/// Those that may be the fastest, the fastest by belief first, `most` at most: less than two standard errors of the
/// difference behind it. Always among them, in the last places: the trial of the smallest estimate; and, where these
/// are two at least, trial 0, the default. A configuration is one only once. Empty: no trial has a belief.
[[nodiscard]] std::vector<Finalist> choose_finalists(std::span<const db::StoredTrial> trials,
                                                     std::span<const std::optional<Belief>> beliefs, std::size_t most);

/// The race between them. `known`: pairs measured before. REQUIRES: two at least.
[[nodiscard]] measure::Race race_between(std::span<const Finalist> finalists, double margin_percent, int most_pairs,
                                         std::uint64_t seed, std::vector<measure::RaceAnswer> known = {});

/// The winner's place among the finalists: the leader of the race; or, where that is not the default, of those that are
/// behind it by no more than the margin the one with the fewest changes, then the faster one. The default itself wins
/// as the leader only: whether a small gain is none, fresh pairs will say.
[[nodiscard]] std::size_t winner_of(const measure::Race& race, std::span<const Finalist> finalists,
                                    double margin_percent);

}  // namespace nocturne::tuner
