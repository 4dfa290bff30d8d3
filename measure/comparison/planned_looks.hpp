#pragma once

/// When a comparison may be judged, and how strictly: looks planned before the first pair is measured.
///
/// Who looks after every pair and stops at the first p < 0.05 finds a difference between equal programs in a third of
/// all cases. Here the numbers of pairs at which one may look are fixed beforehand, and the allowed error is spread
/// over them, in proportion to the pairs measured by then (the linear spending function; Lan & DeMets, Biometrika 70,
/// 1983, and Kim & DeMets, Biometrika 74, 1987, with exponent 1). The critical values come from the joint distribution
/// of the looks by numerical integration (Armitage, McPherson & Rowe, J. R. Statist. Soc. A 132, 1969), and are handed
/// to Student's t by their significance levels (Jennison & Turnbull, Group Sequential Methods, 2000, section 11.5).
/// With few pairs that errs a little too often (5.3 % for 5 % with looks from 6 to 24 pairs), which is found by
/// simulation and taken off. Intervals of signed ranks (comparison.hpp) keep the same levels, and err less often.
///
/// The intervals of all looks together hold the true value with the promised probability (repeated confidence
/// intervals, ibid. chapter 9). So FASTER, SLOWER and SAME may each be read off the interval of whichever look comes
/// first, and stopping there costs nothing. Pure.

#include <cstdint>
#include <span>
#include <vector>

namespace nocturne::measure {

/// After how many pairs two sides are judged, and which difference counts as none.
struct ComparisonPolicy {
  int pairs = 6;              ///< pairs of fresh processes before the first look
  int most_pairs = 20;        ///< while the verdict is open; fewer than `pairs` counts as `pairs`
  double margin_percent = 1;  ///< closer than this is SAME
};

/// Probability that any verdict of a comparison, or of a family of comparisons, is wrong.
inline constexpr double kComparisonError = 0.05;

struct Look {
  int pairs = 0;          ///< measured by then
  double confidence = 0;  ///< confidence of this look's interval alone, 0 to 1: what compare() is to be asked for
  friend bool operator==(const Look&, const Look&) = default;
};

/// How strictly so many pairs are judged which, ended by time or error, need not be the number of a planned look: as
/// the stricter of the looks around it; before the first one, as if it had been planned there. `error` is that of the
/// plan. REQUIRES: pairs ≥ 2, a plan of plan_looks().
[[nodiscard]] double confidence_after(std::int64_t pairs, std::span<const Look> plan, double error = kComparisonError);

/// Looks at `first` pairs, then at about a third more each time, the last at `most`. With first == most there is one
/// look and its confidence is 1 − error. REQUIRES: 2 ≤ first ≤ most, 0 < error < 1.
[[nodiscard]] std::vector<Look> plan_looks(int first, int most, double error = kComparisonError);

/// The same where the scatter is known beforehand, so that the interval of a look is the normal distribution's and the
/// first look may be at one; up to ten numbers have a look each. REQUIRES: 1 ≤ first ≤ most, 0 < error < 1.
[[nodiscard]] std::vector<Look> plan_looks_known_scatter(int first, int most, double error = kComparisonError);

/// Two-sided critical value of the normal distribution: 1.96 for 0.95.
[[nodiscard]] double normal_critical(double confidence);
/// The same of Student's t, for the mean of so many values. REQUIRES: count ≥ 2.
[[nodiscard]] double student_critical(int count, double confidence);

}  // namespace nocturne::measure
