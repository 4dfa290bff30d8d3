#pragma once

/// What machines and networks have in common: a Bayesian linear model of log times, shared by groups of measurements.
///
/// A group is what one machine measured with one network. A point x in group g takes
///
///   y = c + l_g + a_g (f(x) + d_g(x) + rest)
///   f = sum_i f_i(x_i) + sum_{i<j} f_ij(x_i, x_j) + local(x) + itself(x)
///
/// f: effects, interactions, what no pair explains, and what is the configuration's alone, that all groups have; d: how
/// a machine, a network and the two together deviate from them, of the same make; a_g: how much anything matters there.
/// All but a_g are Gaussian a priori with mean 0 (random effects), so y is a Gaussian process with covariance
///
///   K = c + l_m [m = m'] + l_n [n = n'] + l_g [g = g'] + a_g a_g' (s (E + b2/2 (E² - S) + b3 P + b4 [x = x']) + rest)
///   s = (1 + r_m [m = m'] + r_n [n = n'] + r_g [g = g']) / (1 + r_m + r_n + r_g),  E = sum_i w_i k_i,  S = sum_i (w_i
///   k_i)²,  P = prod_i exp(-d_i)
///
/// m, n: machine and network; k_i, d_i: similarity and distance of levels (model/level_kernel.hpp). The scales w, b, r,
/// l, a, rest maximise the marginal likelihood times log-normal priors (Rasmussen and Williams, "Gaussian Processes for
/// Machine Learning", 2006, equations 2.25, 2.26, 5.8, 5.9), by NLopt's L-BFGS; algebra by Eigen (evidence.hpp).
///
/// Few machines say little of how much machines differ. So of a place where little was measured two things are not
/// taken as certain, but integrated over (gain_distribution.hpp): its amplitude a, of which the known ones are a
/// sample (its logarithm predicted by Student's t of as many degrees as there are groups, and two of belief), and the
/// share c of the deviations: with one machine known as wide as the prior; own trials, where there are some, say by
/// their likelihood which is true.
///
/// That linear models carry over to other machines: Valov et al., "Transferring performance prediction models across
/// different hardware platforms", ICPE 2017; where they do not: Jamshidi et al., "Transfer learning for performance
/// modeling", ASE 2017.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "search/model/prediction.hpp"
#include "space/lattice.hpp"

namespace nocturne::search::transfer {

/// Where something was measured.
struct Place {
  std::string machine;
  std::string network;
  friend bool operator==(const Place&, const Place&) = default;
};

struct Measurement {
  Place place;
  std::vector<space::Level> point;
  double log_time = 0;  ///< finite
};

/// What is to be expected of one point at one place; uncertain is what it truly takes, not one run.
struct Expectation {
  double log_time = 0;
  double log_time_sd = 0;
  double log_gain = 0;        ///< log of the reference's time over this one's: above 0 is faster; the median
  model::Interval gain_90{};  ///< central 90 % interval of it
  double expected_gain = 0;   ///< its mean, by which points are to be ranked
};

/// Immutable once fitted: may be read by all threads.
class SharedEffects {
 public:
  /// Measurements that carry a fit at most: its cost grows with their third power (some seconds).
  static constexpr std::size_t kMost = 400;

  /// Fits at once. Of times far above what is usual at their place less is made: above its third quartile they count by
  /// their logarithm once more. REQUIRES: 1 to kMost measurements, of points of the lattice.
  SharedEffects(const space::Lattice& lattice, std::vector<Measurement> measurements);
  ~SharedEffects();
  SharedEffects(SharedEffects&&) noexcept;
  SharedEffects& operator=(SharedEffects&&) noexcept;

  /// Of each point at that place, in the order of the points.
  [[nodiscard]] std::vector<Expectation> expect(const Place& place, const space::PointList& points,
                                                space::Point reference) const;
  /// Standard deviation of one measurement about what parameters explain, log units; of an average group.
  [[nodiscard]] double noise_sd() const;
  /// Share of the variance of effects that a machine of its own keeps to itself: 0, all machines are alike; 1, nothing
  /// carries over.
  [[nodiscard]] double own_share_of_machine() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nocturne::search::transfer
