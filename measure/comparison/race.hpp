#pragma once

/// Which of several configurations is the fastest: a race over pairs of any two of them. Pure: it knows no process and
/// no clock; whoever measures asks next() and answers with tell(). The gain of the winner is flattered by the choice,
/// so it is reported from fresh pairs with the default. Campaigns do not choose by it yet; nocturne-verdict-survey
/// judges it beside their way.
///
/// With g = ln(T_default / T) of an entrant, a pair of i and j gives
///
///     y = ln(T_j / T_i) = g_i − g_j + e,
///
/// and all pairs together are one linear model: two entrants need not meet to be compared, and a pair tells of both its
/// sides, where a pair with the default would tell of one. Before the first pair, each g is normal with the entrant's
/// own mean and sd. e / scale follows Student's t distribution with four degrees of freedom, for pairs have heavy
/// tails. The mode of the posterior is found by reweighting (Lange, Little & Taylor, J. Am. Statist. Assoc. 84, 1989).
/// Its covariance is that of the last weights. With many pairs that is 5/7 of what Fisher's information gives
/// ((ν + 1) / (ν + 3) per scale²): standard errors are 15 % too small, and the race ends a little early.
///
/// Rounds in which all meet come first. Then each pair is of two that may both be the best, as often as they may be
/// (top-two Thompson sampling; Russo, Operations Research 68, 2020), until one of them probably is, or all pairs are
/// used.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
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
  int rounds = 1;       ///< in which all meet, before two that may be the best do; of an odd number one is left over
  int most_pairs = 40;  ///< those of the rounds included; where all are equal, about as many processes as today
  /// Of the t distribution of a pair's log ratio, not its sd: 1.4826 times the median size of the 320 ratios in
  /// tests/tuner/campaign/equal_configurations.json, 0.0141. Their likelihood is greatest with 0.020.
  double scale = 0.021;
  double certainty = 0.97;  ///< the race ends where one entrant is the best with this probability; above 1: never
};

/// Two that are measured as a pair, by their places among the entrants.
struct RacePair {
  std::size_t first = 0, second = 0;
};

/// What all pairs together say of an entrant.
struct RaceStanding {
  double gain = 0;   ///< ln(T_default / T), where the default is an entrant with gain 0 and a tiny error
  double error = 0;  ///< sd of that
};

/// Not thread-safe. The same seed and the same answers give the same pairs.
class Race {
 public:
  /// REQUIRES: two entrants at least, errors and scale above 0.
  Race(std::vector<Entrant> entrants, const RacePolicy& policy, std::uint64_t seed);

  /// The pair that is to be measured now, the same until it is told; empty: the race is over.
  [[nodiscard]] std::optional<RacePair> next() const { return next_; }
  /// ln(T_second / T_first) of the pair that next() named. REQUIRES: next() names one.
  void tell(double log_ratio);
  /// That pair could not be measured: this one of both leaves the race; the other may miss this round. REQUIRES: as
  /// above.
  void leave(std::size_t entrant);

  [[nodiscard]] std::vector<RaceStanding> standings() const;
  /// The entrant of the highest gain among those that have not left.
  [[nodiscard]] std::size_t leader() const;
  /// Told so far.
  [[nodiscard]] int pairs() const { return static_cast<int>(told_.size()); }

 private:
  struct Told {
    RacePair pair;
    double log_ratio = 0;
  };
  void fit();
  void advance();
  /// The next pair of the rounds in which all meet; empty: they are over.
  [[nodiscard]] std::optional<RacePair> next_meeting();
  /// Two that may be the best; empty: one of them is.
  [[nodiscard]] std::optional<RacePair> next_contenders();
  /// Whose gain is the highest of those that have not left.
  [[nodiscard]] std::size_t best_of(const Eigen::VectorXd& gains) const;
  /// The best in a draw from the posterior.
  [[nodiscard]] std::size_t drawn_best();

  std::vector<Entrant> entrants_;
  RacePolicy policy_;
  std::mt19937_64 random_;
  std::vector<bool> left_;
  std::vector<Told> told_;
  std::vector<std::size_t> meeting_;  ///< those who have still to meet in this round
  int rounds_ = 0;                    ///< begun
  Eigen::VectorXd gains_;
  Eigen::LLT<Eigen::MatrixXd> precision_;
  std::optional<RacePair> next_;
};

}  // namespace nocturne::measure
