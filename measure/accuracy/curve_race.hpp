#pragma once

/// Which learning curve is worth its time next? Pure.
///
/// Each entrant is a set of *learning values* (batch size, precision, …): what its curves and its times say is composed
/// into ln of its time to accuracy, with an error. Of sets without curves or times a Gaussian process over the values
/// says what the others let expect: a common level, an effect of each value, and what is the set's own,
///
///   cov(a, b) = level² + Σ_p effect² · [a_p = b_p] + own² · [a = b],
///
/// so that a set one has not tried is expected where those that share its values lie, and is uncertain by the rest. The
/// next curve is of the entrant whose expected improvement on the leader is largest (D. Jones, M. Schonlau, W. Welch,
/// J. Global Optimization 13, 1998, equation 15), or of the leader where its own time is the less certain of the two. A
/// curve goes on no longer than the leader's time allows: what is not there by then has lost, and is censored.
/// Seeds are paired: the k-th curve of each entrant has the same.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "measure/accuracy/time_to_accuracy.hpp"

namespace nocturne::measure {

struct LearningEntrant {
  std::vector<std::int64_t> values;  ///< which value it has of each parameter that learns; as many for each entrant
  std::vector<Crossing> crossings;   ///< of its curves so far
  std::optional<EpochTimes> times;   ///< of its trial; empty: not measured
  bool failed = false;               ///< it does not train: out of the race
};

struct LearningStanding {
  EpochsToTarget epochs;
  EpochTimes times;
  double log_seconds = 0, log_error = 0;  ///< of the time to accuracy, and its standard deviation
  bool own = false;                       ///< it has curves of its own; else this is what the others let expect
};

struct CurvePolicy {
  double points_per_epoch = 4;
  std::int64_t most_epochs = 30;
  std::size_t most_curves = 6;      ///< of one entrant
  double least_improvement = 0.01;  ///< expected, of a logarithm: less is not worth a curve
};

/// One for each entrant. Without any curve it is what the prior says.
[[nodiscard]] std::vector<LearningStanding> standings(std::span<const LearningEntrant> entrants,
                                                      const CurvePolicy& policy);

/// How many epochs a curve may take at most to be as fast as the leader, of whose time the logarithm and its standard
/// deviation are given: twice that above it, and a quarter more.
[[nodiscard]] std::int64_t epochs_worth(const EpochTimes& of, double leader_log_seconds, double leader_log_error,
                                        const CurvePolicy& policy);

struct NextCurve {
  std::size_t entrant = 0;
  std::int64_t most_epochs = 1;
  double seconds = 0;  ///< that it is expected to take at most
};

/// The first entrant is the default, whose first curve comes first. Empty: none is worth its time.
[[nodiscard]] std::optional<NextCurve> next_curve(std::span<const LearningEntrant> entrants, const CurvePolicy& policy);

}  // namespace nocturne::measure
