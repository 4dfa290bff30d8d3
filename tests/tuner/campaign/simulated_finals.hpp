#pragma once

/// A campaign's way from its trials to a verdict, simulated on noise whose truth is known: beliefs of all trials, a
/// race of the finalists, fresh pairs with the default at planned looks. Beside it what is usually done: every
/// configuration so many times, and the smallest mean wins.

#include <cstddef>
#include <cstdint>

#include "measure/comparison/comparison.hpp"
#include "tests/tuner/campaign/equal_configurations.hpp"

namespace nocturne::test {

struct SimulatedCampaign {
  std::size_t configurations = 30;  ///< beside the default
  double planted = 0;               ///< ln(T_default / T) of the best
  double others = 0;                ///< and of all others
  /// False: configurations have nothing in common, and the first of them is the planted one. True: each has a value of
  /// seven switches, drawn; two of the switches gain half of `planted` each.
  bool structured = false;
  /// Each trial but the default's takes turns with a process of the default: its log time is that of the ratio.
  bool paired = false;
  int selection_pairs = 40;  ///< as verify.selection_pairs
  std::uint64_t seed = 1;    ///< of what is drawn beside the noise
};

struct SimulatedVerdict {
  measure::Verdict verdict = measure::Verdict::Undecided;
  double reported = 0;        ///< ln(T_default / T) of the winner, as reported
  double truth = 0;           ///< what it really is
  double low = 0, high = 0;   ///< ends of the reported interval, logarithms
  std::size_t processes = 0;  ///< started in all
  bool chose_planted = false;
};

/// As a campaign does with its defaults on a machine whose noise is known, each configuration measured once: alone, or
/// paired.
[[nodiscard]] SimulatedVerdict play_campaign(const SimulatedCampaign& campaign, EqualConfigurations& noise);

/// Each configuration and the default `repeats` times, one process after the other, round by round; the smallest mean
/// wins and is called faster where the 95 % interval of its rounds against the default says so (with one repeat:
/// always). REQUIRES: not structured.
[[nodiscard]] SimulatedVerdict play_repetition(const SimulatedCampaign& campaign, std::size_t repeats,
                                               EqualConfigurations& noise);

}  // namespace nocturne::test
