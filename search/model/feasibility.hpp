#pragma once

/// P(a configuration works), from those that did and those that failed.
///
/// Kernel ridge regression on labels 1 and 0 around the prior (ok + 2) / (n + 2.5), with covariance exp(-sum_i d_i)
/// over the distances of level_kernel.hpp: a product over the parameters, so that a failure speaks for its
/// neighbourhood and combinations count. Ridge kRidge; clipped to [kFloor, 1]: nothing is ever ruled out by it.
///
/// That is slow to see that a value, or two together, always fail, whatever else is set. So it is multiplied by the
/// probability that no such rule forbids it (failure_rules.hpp): it is that which keeps the same failure from being met
/// again and again.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "search/model/failure_rules.hpp"
#include "space/lattice.hpp"

namespace nocturne::search::model {

/// Not thread-safe. The lattice must outlive it.
class Feasibility {
 public:
  static constexpr double kRidge = 0.02;
  static constexpr double kFloor = 0.02;
  /// A rule forbids what it allows with less than this probability.
  static constexpr double kForbidden = 0.02;

  explicit Feasibility(space::Lattice& lattice);
  ~Feasibility();
  Feasibility(Feasibility&&) noexcept;
  Feasibility& operator=(Feasibility&&) noexcept;

  /// Adds a trial, or replaces the label of one told at the same point.
  void tell(space::Point point, bool worked);
  [[nodiscard]] std::size_t failures() const;
  /// Whether a rule all but certainly forbids it.
  [[nodiscard]] bool forbids(space::Point point);
  /// What seems to fail whatever else is set, the likeliest first. Valid until the next call.
  [[nodiscard]] const std::vector<FailureRules::Rule>& rules();
  /// 1 everywhere while nothing failed.
  [[nodiscard]] double probability(space::Point point);
  void probabilities(const space::PointList& points, std::vector<float>& result);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nocturne::search::model
