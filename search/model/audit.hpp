#pragma once

/// Tests what pruning predicts: that of the configurations it rules out, no more than one in twenty is faster than its
/// own optimistic bound.
///
/// One trial in kOneIn is drawn uniformly from the pruned. An audit *fails* when its value is below the 5 % quantile
/// that was predicted for it. Failures are counted by an e-process (Robbins, "Statistical methods related to the law of
/// the iterated logarithm", Ann. Math. Stat. 41, 1970; Ramdas, Grünwald, Vovk, Shafer, "Game-theoretic statistics and
/// safe anytime-valid inference", Statistical Science 38, 2023): the likelihood ratio of a failure rate p > p0 against
/// p0 = 5 %, mixed uniformly over p in (p0, 1/2]. After k failures in n audits
///
///   E = [B(1/2; k+1, n-k+1) - B(p0; k+1, n-k+1)] / [(1/2 - p0) p0^k (1-p0)^(n-k)],  B: the incomplete beta function.
///
/// Under every rate up to p0 it is a supermartingale that begins at 1, so by Ville's inequality it ever exceeds 1/alpha
/// with probability alpha at most, however often one looks. When it does, the intervals are widened by kWider and the
/// count begins again with half the alpha, so that all false alarms of a campaign together keep to alpha.
///
/// How often an audited one beat the incumbent, that is: how often pruning was wrong in the end, is reported apart.

#include <cstddef>

namespace nocturne::search::model {

/// Limits of a share, from hits in tries.
struct ShareInterval {
  double lower = 0, upper = 1;
};

/// Clopper and Pearson ("The use of confidence or fiducial limits illustrated in the case of the binomial",
/// Biometrika 26, 1934): covers at least `confidence`, central. No tries: 0 to 1.
[[nodiscard]] ShareInterval clopper_pearson(std::size_t hits, std::size_t tries, double confidence = 0.9);

/// Deterministic; a value.
class Audit {
 public:
  static constexpr std::size_t kOneIn = 20;
  static constexpr std::size_t kWarmUp = 15;  ///< trials more before the first: a model must be there to be audited
  static constexpr double kNominal = 0.05;
  static constexpr double kAlpha = 0.05;
  static constexpr double kWider = 1.4;

  /// Whether the next of so many trials (those under way included) is to be an audit.
  [[nodiscard]] bool due(std::size_t trials) const { return trials >= kWarmUp + kOneIn * (drawn_ + 1); }
  /// One was drawn, or could not be drawn since nothing is pruned.
  void drew() { ++drawn_; }
  /// An audit came back. A failed trial beat nothing.
  void tell(bool beat_its_bound, bool beat_the_incumbent);

  /// Factor for the widths of all intervals, 1 until the first alarm.
  [[nodiscard]] double widening() const { return widening_; }
  /// Value of the e-process since the last alarm; an alarm is raised when it reaches 1 / alpha.
  [[nodiscard]] double evidence() const;
  [[nodiscard]] std::size_t alarms() const { return alarms_; }
  [[nodiscard]] std::size_t audits() const { return audits_; }
  [[nodiscard]] std::size_t failures() const { return failures_; }
  [[nodiscard]] std::size_t misses() const { return misses_; }
  /// Interval of the share of pruned configurations that would beat the incumbent.
  [[nodiscard]] ShareInterval miss_rate(double confidence = 0.9) const;

 private:
  std::size_t drawn_ = 0;
  std::size_t audits_ = 0, failures_ = 0, misses_ = 0;
  std::size_t counted_ = 0, counted_failures_ = 0;  // since the last alarm
  std::size_t alarms_ = 0;
  double widening_ = 1;
};

}  // namespace nocturne::search::model
