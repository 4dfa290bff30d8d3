#pragma once

/// How similar the levels of each parameter are: the distances and the covariance of the main effects.
///
/// d(a, b) in [0, 1]: an ordered axis by position, ends 0 and 1: by logarithm where all values are positive and span a
/// factor of four (or the range is declared logarithmic), by log(1 + value) from 0 to 8 or more, else by value; by
/// number of the level where values are negative or texts. Without order 1. *Inactive* is a level of its own, at
/// distance 1 from all others.
///
/// k = 0.9 exp(-d) + 0.1 [a = b] on an ordered axis of more than two levels, else [a = b]; then centred twice,
///   k(a, b) - mean_b k(a, b) - mean_a k(a, b) + mean k,
/// so that effects sum to zero over the levels (the prior of a main effect in an ANOVA decomposition: Durrande,
/// Ginsbourger, Roustant, Carraro, "ANOVA kernels and RKHS of zero mean functions", J. Multivariate Analysis 115,
/// 2013), and scaled to mean diagonal 1.

#include <cstddef>
#include <vector>

#include "space/lattice.hpp"

namespace nocturne::search::model {

/// Immutable tables; rows of all parameters are numbered through.
class LevelKernels {
 public:
  explicit LevelKernels(const space::Lattice& lattice);

  [[nodiscard]] std::size_t parameters() const { return first_.size() - 1; }
  /// Levels of a parameter, *inactive* included where it may be.
  [[nodiscard]] std::size_t levels(std::size_t parameter) const { return first_[parameter + 1] - first_[parameter]; }
  [[nodiscard]] std::size_t rows() const { return first_.back(); }
  [[nodiscard]] std::size_t first_row(std::size_t parameter) const { return first_[parameter]; }
  /// The row of a level; inactive is the last one.
  [[nodiscard]] std::size_t row(std::size_t parameter, space::Level level) const {
    return level == space::kNoLevel ? first_[parameter + 1] - 1 : first_[parameter] + level;
  }
  /// k and exp(-d) between two levels given by their place in the parameter.
  [[nodiscard]] float covariance(std::size_t parameter, std::size_t a, std::size_t b) const {
    return covariance_[parameter][a * levels(parameter) + b];
  }
  [[nodiscard]] float closeness(std::size_t parameter, std::size_t a, std::size_t b) const {
    return closeness_[parameter][a * levels(parameter) + b];
  }

 private:
  void make(const space::Lattice& lattice, std::size_t parameter);

  std::vector<std::size_t> first_;
  std::vector<std::vector<float>> covariance_;
  std::vector<std::vector<float>> closeness_;
};

/// Positions of an ordered axis' levels, 0 to 1.
[[nodiscard]] std::vector<double> level_positions(const space::Lattice& lattice, std::size_t parameter);

}  // namespace nocturne::search::model
