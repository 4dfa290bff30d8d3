#pragma once

/// From how many epochs on is one configuration faster than another, and how sure is that? Pure.
///
/// T(N) = a + N · b of both sides: what starts slower may train faster. Of each number of epochs the pairs give an
/// interval of the log ratio (comparison.hpp); the break-even is where its mean is zero, and the interval of the
/// break-even holds every N whose interval holds zero. That is Fieller's construction (J. R. Statist. Soc. B 16, 1954):
/// no ratio of noisy numbers is taken, and where the data do not bound the break-even the interval is open, as it
/// should be.

#include <optional>
#include <span>

#include "measure/comparison/comparison.hpp"

namespace nocturne::measure {

/// Which of two is faster.
enum class Lead { Baseline, Open, Candidate };

struct BreakEven {
  Lead at_first = Lead::Open;  ///< for the shortest training, kFewestEpochs
  Lead at_last = Lead::Open;   ///< for the longest, kMostEpochs
  /// Where the mean changes its sign; empty: it does not.
  std::optional<double> epochs;
  double low = 0;   ///< up to here at_first is sure; 0 where it is open
  double high = 0;  ///< from here on at_last is sure; infinite where it is open
};

inline constexpr double kFewestEpochs = 0.01;
inline constexpr double kMostEpochs = 100'000;

/// REQUIRES: at least two pairs, 0 < confidence < 1.
[[nodiscard]] BreakEven break_even(std::span<const PairParts> pairs, double confidence = 0.95);

}  // namespace nocturne::measure
