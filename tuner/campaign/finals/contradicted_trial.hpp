#pragma once

/// A trial that fresh pairs contradict. A trial is one process or two, and where a neighbour had the machine meanwhile
/// its time stays a fact of the search, whatever is measured later: a default that looks ten times as slow as it is
/// makes everything else look like a gain, and is never looked at again. Pairs suffer less, for both sides share the
/// neighbour, and there are several of them.

#include <optional>
#include <span>
#include <string>

#include "measure/comparison/comparison.hpp"
#include "space/trial.hpp"

namespace nocturne::tuner {

/// How far the ratio of two trials may lie from that of their pairs before one of them is taken for disturbed, in log
/// units. Processes of a machine at rest differ by a few percent, and the fastest of many trials flatters itself by
/// some more (the answer page says so from 5 % on): neither comes to a quarter.
inline constexpr double kContradiction = 0.22;

/// A trial as its pairs say it is.
struct ContradictedTrial {
  space::Trial trial;    ///< parts and estimate are new
  std::string sentence;  ///< what was found
};

/// Of a baseline and a candidate, the one that lies farther from its own runs in the pairs is judged anew: by the parts
/// of these runs, times what the other side's trial is to its runs, so that the ratio of both trials becomes that of
/// the pairs (nodes and turns may differ from a trial alone by a factor; that is in both sides). Empty: the pairs do
/// not contradict, there are fewer than two, or one of both trials has no time. `epochs`: the primary horizon.
[[nodiscard]] std::optional<ContradictedTrial> contradicted_trial(const space::Trial& baseline,
                                                                  const space::Trial& candidate,
                                                                  std::span<const measure::PairParts> pairs,
                                                                  double epochs);

}  // namespace nocturne::tuner
