#pragma once

/// What a configuration gains where it is not certain how much anything matters, nor how much carries over.
///
/// With z = log time against the reference's, in units of the place's amplitude and bent (model::Target):
///
///   gain = k (straight(0) - straight(z)),      -z ~ sum_c p_c N(m_c, s_c²)
///
/// k: how much stronger effects are than an average place's; c: how much of what is known carries over, against what
/// was expected. k is drawn from a few equally likely values (quantiles of Student's t, in the logarithm), so the gain
/// is a finite mixture and its quantiles are wider than a normal's. Where the place itself was measured, k concerns the
/// spread alone.

#include <vector>

#include "search/model/prediction.hpp"

namespace nocturne::search::transfer {

/// Equally likely values of a logarithm around 0 that scatters like Student's t, as factors: so many, ascending.
[[nodiscard]] std::vector<double> likely_factors(double sd, double degrees, int count);

/// What all configurations of a place have in common. A value, in units of its amplitude.
struct Stretch {
  std::vector<double> factors{1};  ///< k
  bool of_spread = false;          ///< k concerns the spread alone
  model::Target bend;              ///< of log times against the reference's, which is 0 and bent
};

/// A value; refers to the stretch.
class GainDistribution {
 public:
  struct Component {
    double probability = 1;
    double mean = 0, sd = 1;
  };
  /// REQUIRES: probabilities add up to 1.
  GainDistribution(const Stretch& stretch, std::vector<Component> components)
      : stretch_(&stretch), components_(std::move(components)) {}

  /// The value that the gain stays below with this probability, to four digits.
  [[nodiscard]] double quantile(double probability) const;
  /// Expected value for k = 1: what might be far slower costs more than the median says.
  [[nodiscard]] double mean() const;

 private:
  [[nodiscard]] double below(double gain) const;

  const Stretch* stretch_;
  std::vector<Component> components_;
};

}  // namespace nocturne::search::transfer
