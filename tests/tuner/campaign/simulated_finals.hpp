#pragma once

/// A campaign's way from its trials to a verdict, simulated on noise whose truth is known: finalists, choice in pairs,
/// fresh pairs with the default at planned looks. Beside it a race, by which campaigns do not choose yet, and what is
/// usually done: every configuration so many times, and the smallest mean wins.

#include <cstddef>
#include <cstdint>

#include "measure/comparison/comparison.hpp"
#include "tests/tuner/campaign/equal_configurations.hpp"

namespace nocturne::test {

struct SimulatedCampaign {
  std::size_t configurations = 30;  ///< beside the default; the first of them is the planted one
  double planted = 0;               ///< ln(T_default / T) of the planted one
  double others = 0;                ///< and of all others
  std::uint64_t seed = 1;           ///< of the race's own draws
};

struct SimulatedVerdict {
  measure::Verdict verdict = measure::Verdict::Undecided;
  double reported = 0;        ///< ln(T_default / T) of the winner, as reported
  double truth = 0;           ///< what it really is
  double low = 0, high = 0;   ///< ends of the reported interval, logarithms
  std::size_t processes = 0;  ///< started in all
  bool chose_planted = false;
};

/// As a campaign does with its defaults on a machine whose noise is known: up to three processes of each trial, as its
/// fate needs; at most four finalists, four pairs of each with the champion, then 6 to 20 fresh pairs.
[[nodiscard]] SimulatedVerdict play_campaign(const SimulatedCampaign& campaign, EqualConfigurations& noise);

/// Each configuration and the default once, then a race between all of them with its defaults (measure::RacePolicy),
/// then 8 to 20 fresh pairs of the leader with the default, judged by signed ranks.
[[nodiscard]] SimulatedVerdict play_race(const SimulatedCampaign& campaign, EqualConfigurations& noise);

/// Each configuration and the default `repeats` times, one process after the other, round by round; the smallest mean
/// wins and is called faster where the 95 % interval of its rounds against the default says so (with one repeat:
/// always).
[[nodiscard]] SimulatedVerdict play_repetition(const SimulatedCampaign& campaign, std::size_t repeats,
                                               EqualConfigurations& noise);

}  // namespace nocturne::test
