#pragma once

/// Which of several configurations is the fastest: a race over pairs of any two of them. Pure: it knows no process and
/// no clock; whoever measures asks next() and answers with tell(). The gain of the winner is flattered by the choice,
/// so it is reported from fresh pairs with the default.
///
/// With g = ln(T_default / T) of an entrant, a pair of i and j gives
///
///     y = ln(T_j / T_i) = g_i − g_j + e,
///
/// and all pairs together are one linear model: two entrants need not meet to be compared, and a pair tells of both its
/// sides, where a pair with the default would tell of one. Before the first pair, each g is normal with the entrant's
/// own mean and sd; pairs that contradict that widen the sds of all by one factor. e / scale follows Student's t
/// distribution with four degrees of freedom, for pairs have heavy tails; the mode of the posterior is found by
/// reweighting, and scale and factor with it, from what the policy says and what the pairs show
/// (expectation-maximisation; Lange, Little & Taylor, J. Am. Statist. Assoc. 84, 1989). Its covariance is that of
/// Fisher's information, (ν + 1) / (ν + 3) per scale² a pair: the last weights would make standard errors 15 % too
/// small. What is wrong with all but the default together no factor tells: to each of them such a pair is an outlier.
///
/// Rounds in which all meet come first. Then each pair is of two that may both be the best, as often as they may be
/// (top-two Thompson sampling; Russo, Operations Research 68, 2020), until none is probably better than the leader by
/// what counts, or all pairs are used.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include <Eigen/Cholesky>

namespace nocturne::measure {

/// What is known of an entrant before its first pair.
struct Entrant {
  double gain = 0;   ///< ln(T_default / T)
  double error = 0;  ///< sd of that; the default itself has a tiny one
};

/// The defaults are what nocturne-verdict-survey judges, with 30 entrants beside the default.
struct RacePolicy {
  int rounds = 1;       ///< meetings of each, before two that may be the best meet
  int most_pairs = 40;  ///< known ones and those of the rounds included
  /// Of the t distribution of a pair's log ratio, not its sd: 1.4826 times the median size of the 320 ratios in
  /// tests/tuner/campaign/equal_configurations.json, 0.0141. Their likelihood is greatest with 0.020.
  double scale = 0.021;
  double scale_pairs = 10;  ///< so many pairs would have to show another scale to be believed half
  double sd_entrants = 4;   ///< so many entrants would have to show that their sds are too small to be believed half
  double certainty = 0.97;  ///< the race ends where no other is better by more than `margin` with this probability
  double margin = 0;        ///< log units
};

/// Two that are measured as a pair, by their places among the entrants.
struct RacePair {
  std::size_t first = 0, second = 0;
};

/// A pair that was measured.
struct RaceAnswer {
  RacePair pair;
  double log_ratio = 0;  ///< ln(T_second / T_first)
};

/// What all pairs together say of an entrant.
struct RaceStanding {
  double gain = 0;   ///< ln(T_default / T), where the default is an entrant with gain 0 and a tiny error
  double error = 0;  ///< sd of that
};

/// Not thread-safe. The same seed and the same answers give the same pairs.
class Race {
 public:
  /// `known`: pairs that were measured before. REQUIRES: two entrants at least, errors and scale above 0.
  Race(std::vector<Entrant> entrants, const RacePolicy& policy, std::uint64_t seed, std::vector<RaceAnswer> known = {});

  /// The pair that is to be measured now, the same until it is told; empty: the race is over.
  [[nodiscard]] std::optional<RacePair> next() const { return next_; }
  /// ln(T_second / T_first) of the pair that next() named. REQUIRES: next() names one.
  void tell(double log_ratio);
  /// That pair could not be measured: this one of both leaves the race. The last one does not.
  void leave(std::size_t entrant);

  // Several at once.
  /// A pair to be measured beside those under way; none are: as next(). Empty: none may be begun before some of these
  /// are told, or the race is over.
  [[nodiscard]] std::optional<RacePair> next_beside(std::span<const RacePair> in_flight);
  /// ln(T_second / T_first) of a pair that was named.
  void tell(const RacePair& pair, double log_ratio);
  [[nodiscard]] bool has_left(std::size_t entrant) const { return left_[entrant]; }

  [[nodiscard]] std::vector<RaceStanding> standings() const;
  /// The entrant of the highest gain among those that have not left.
  [[nodiscard]] std::size_t leader() const;
  /// Told so far, known ones included.
  [[nodiscard]] int pairs() const { return static_cast<int>(told_.size()); }
  /// As it is believed now.
  [[nodiscard]] double scale() const { return scale_; }
  /// How many times as far as their sds say the entrants are from what was known of them; at least 1.
  [[nodiscard]] double sd_factor() const { return sd_factor_; }

 private:
  /// Precision of the entrants by what was known before the first pair.
  [[nodiscard]] Eigen::MatrixXd prior_precision() const;
  void fit();
  /// Gains and covariance for the present scale.
  void fit_gains();
  void fit_scale();
  void fit_sd_factor();
  void advance();
  /// The next pair of the rounds in which all meet, beside those under way; empty: they are over.
  [[nodiscard]] std::optional<RacePair> next_meeting(std::span<const RacePair> in_flight);
  /// Pairs in which each takes part, those under way included.
  [[nodiscard]] std::vector<int> meetings(std::span<const RacePair> in_flight) const;
  /// Two that may be the best; empty: none is better than the leader.
  [[nodiscard]] std::optional<RacePair> next_contenders();
  /// Whose gain is the highest of those that have not left.
  [[nodiscard]] std::size_t best_of(const Eigen::VectorXd& gains) const;
  /// Gains drawn from the posterior.
  [[nodiscard]] Eigen::VectorXd drawn_gains();

  std::vector<Entrant> entrants_;
  RacePolicy policy_;
  std::mt19937_64 random_;
  std::vector<bool> left_;
  std::vector<RaceAnswer> told_;
  double scale_;
  double sd_factor_ = 1;
  Eigen::VectorXd gains_;
  Eigen::MatrixXd covariance_;
  Eigen::LLT<Eigen::MatrixXd> precision_;
  std::optional<RacePair> next_;
};

}  // namespace nocturne::measure
