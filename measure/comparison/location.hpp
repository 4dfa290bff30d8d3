#pragma once

/// The steady value of a series of step times, with a standard error that knows neighbours in time are alike. Pure.

#include <cstddef>
#include <span>

namespace nocturne::measure {

struct Location {
  double value = 0;
  double standard_error = 0;  ///< 0 where there is a single sample: nothing is known of its error
  std::size_t samples = 0;
  friend bool operator==(const Location&, const Location&) = default;
};

/// The middle value; of an even number the mean of the middle two. REQUIRES: not empty.
[[nodiscard]] double median(std::span<const double> values);

/// Share cut off at each end by trimmed_mean.
inline constexpr double kTrim = 0.2;

/// Mean of what is left without the lowest and the highest ⌊0.2 n⌋ values. REQUIRES: not empty.
///
/// Chosen over the median, whose variance on calm series is half as large again, and over the mean, which one preempted
/// step spoils: it bears a fifth of the samples being spikes (R. Wilcox, "Introduction to Robust Estimation and
/// Hypothesis Testing", 20 % as the general recommendation).
[[nodiscard]] double trimmed_mean(std::span<const double> values);

/// trimmed_mean and its standard error by batch means of its influence function: the winsorised values divided by
/// (1 − 2·0.2) are cut into up to 10 batches of neighbours, SE² = variance of the batch means / batches (Schmeiser,
/// Operations Research 30(3), 1982: more than about 10 to 30 batches gain nothing). Never below the value that
/// independent samples would give, as correlation of step times is positive. REQUIRES: not empty.
[[nodiscard]] Location steady_location(std::span<const double> values);

/// Of values that come in bursts which all count, as waiting for a reader does whose processes each bring a batch at
/// the same time: one step in eight waits, and a trimmed mean would see none. The values are cut into up to 10 batches
/// of at least 16 neighbours; trimmed_mean of their means, so that one spike does not spoil it, and its standard error,
/// as above. Of fewer than 32 values it is the mean. REQUIRES: not empty.
[[nodiscard]] Location bursty_location(std::span<const double> values);

}  // namespace nocturne::measure
