#pragma once

/// What random search would do on a recorded space, without a simulation, and how much better a strategy did.
///
/// Random search draws rows without replacement, failed ones too. With the M objectives that are ok in ascending order
/// v(1) … v(M) among N rows, k draws all miss the best i with probability
///   q(k, i) = Π_{j<i} (N − k − j) / (N − j)                      (hypergeometric; order statistics of a finite set)
/// so the best of k draws is v(i) with probability q(k, i−1) − q(k, i), and, given that one draw is ok at all,
///   E(k) = Σ v(i) (q(k, i−1) − q(k, i)) / (1 − q(k, M)).
///
/// The score is that of Willemsen, Schoonhoven, Filipovič, Tornede, van Nieuwpoort and van Werkhoven, "A methodology
/// for comparing optimization algorithms for auto-tuning", Future Generation Computer Systems 159, 2024, with the
/// number of evaluations in the place of time: at each point m of a range, (B(m) − F(m)) / (B(m) − optimum), averaged;
/// 0 is as good as the baseline B, 1 is the optimum at once. The range begins and ends where the published baseline has
/// gone 1 % and 95 % of the way from the median to the optimum. That baseline takes, after m draws, the objective whose
/// rank is m / (m + 1) of the way from worst to best; its F is the median of the runs. Beside it stands the exact one:
/// B = E(m), F the mean of the runs.

#include <cstddef>
#include <span>
#include <vector>

namespace nocturne::search::replay {

/// Values of one run in order of first evaluation; NaN: failed.
using RunValues = std::span<const double>;

struct Score {
  double exact = 0;
  double published = 0;
};

/// Baselines of one space. Immutable.
class RandomBaseline {
 public:
  static constexpr double kStart = 0.01;
  static constexpr double kCutoff = 0.95;
  /// Points of the range at which the exact baseline is computed: each is a sum over all rows.
  static constexpr std::size_t kExactPoints = 120;

  /// REQUIRES: ordered is ascending, positive and not empty; rows ≥ ordered.size(), the failed ones counted.
  RandomBaseline(std::vector<double> ordered, std::size_t rows);

  [[nodiscard]] double optimum() const { return ordered_.front(); }
  [[nodiscard]] double worst() const { return ordered_.back(); }
  /// E(k); the optimum where k is all rows or more. REQUIRES: k > 0.
  [[nodiscard]] double expected_best(std::size_t draws) const;
  /// Draws until one is within `factor` of the optimum, on average.
  [[nodiscard]] double expected_draws(double factor) const;

  /// Evaluations between which the score looks: first and last (which does not count), the last at most `cap`.
  struct Range {
    std::size_t first = 1;
    std::size_t last = 2;
  };
  [[nodiscard]] Range range(std::size_t cap) const;
  /// A run that ends early keeps its best; before its first success it stands at the worst. REQUIRES: runs not empty.
  [[nodiscard]] Score score(std::span<const RunValues> runs, std::size_t cap) const;

 private:
  [[nodiscard]] std::size_t evaluations_for(double part) const;
  [[nodiscard]] double published_baseline(std::size_t draws) const;

  std::vector<double> ordered_;
  std::size_t rows_;
  double median_;
};

/// The best of the first `count` values; `otherwise` where none is ok.
[[nodiscard]] double best_of(RunValues values, std::size_t count, double otherwise);

}  // namespace nocturne::search::replay
