#pragma once

/// A past campaign of another machine or workload, as an order of the present points.
///
/// A linear model is fitted to it alone; its mean is what the present model gets as a physical feature
/// (model/design.hpp). The feature's weight is chosen by marginal likelihood with all others, so that an order that
/// does not explain the present counts for nothing, and a reversed one is seen through. Absolute times are never
/// compared.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>

#include "search/model/linear_model.hpp"
#include "search/model/prediction.hpp"
#include "search/registry.hpp"
#include "space/lattice.hpp"
#include "space/objective.hpp"

namespace nocturne::search::history {

/// Not thread-safe. The lattice must outlive it.
class Ranking {
 public:
  static constexpr std::size_t kFewest = 8;  ///< trials that worked; fewer order nothing
  static constexpr std::size_t kMost = 128;  ///< trials that carry the model

  /// Null: too few of its trials can be understood here.
  [[nodiscard]] static std::unique_ptr<Ranking> of(space::Lattice& lattice, const History& campaign,
                                                   const space::Objective& objective);

  /// The less, the faster; units of its own.
  [[nodiscard]] double mean(space::Point point);
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::size_t trials() const { return model_.size(); }

 private:
  Ranking(space::Lattice& lattice, std::string name);

  std::string name_;
  model::LinearModel model_;
  std::unordered_map<std::uint64_t, double> known_;  // by hash of the point: candidates come again
};

// Does the past still hold? A sequential test of what it predicts against what is measured now.
//
// Each new measurement y has two predictive densities: p with the history, and q without it: half a model of this
// campaign's trials alone, half a distribution as wide as the historic times themselves (a configuration like any
// other). If the history holds, y comes from p, and the product of q/p over the trials is a test martingale: it
// exceeds 1/alpha with probability alpha at most (Ville's inequality; Ramdas, Grünwald, Vovk, Shafer, "Game-theoretic
// statistics and safe anytime-valid inference", Statistical Science 38, 2023). Since a history may hold at first and
// fail where the optimum is sought, the product begins again at 1 whenever it falls below (an e-detector: Shin,
// Ramdas, Rinaldo, "E-detectors: a nonparametric framework for sequential change detection", 2023): then 1/alpha is
// the least expected number of trials until a false alarm.
//
// Densities and not intervals are compared, because a history that says nothing (times in disorder) predicts wide
// intervals that hold everything, and yet spoils a model; and one whose intervals are a little too narrow is still
// better than none.

/// Log density of an observation with that logarithm, per log unit. `extra_sd`: independent uncertainty, log units.
[[nodiscard]] double log_density(const model::Prediction& prediction, double log_value, double extra_sd = 0);

/// A value.
class Agreement {
 public:
  /// `allowance`: log units a trial by which the past may predict worse and still be worth having.
  explicit Agreement(double alpha, double allowance = 0) : alpha_(alpha), allowance_(allowance) {}
  /// Log densities of one measurement, and whether it lay within the 90 % interval predicted with the history.
  void tell(double log_with, double log_without, bool inside);
  [[nodiscard]] bool rejected() const { return rejected_; }
  /// Log of the evidence against the history, at least 0.
  [[nodiscard]] double log_evidence() const { return log_evidence_; }
  [[nodiscard]] std::size_t measured() const { return measured_; }
  [[nodiscard]] std::size_t inside() const { return inside_; }

 private:
  double alpha_, allowance_;
  double log_evidence_ = 0;
  std::size_t measured_ = 0, inside_ = 0;
  bool rejected_ = false;
};

/// How much slower the machine is as a whole than it was, in log units, from trials that were measured then and now.
///
/// Normal a priori with kPriorSd; differences between two measurements of one configuration scatter by kLeastSd at
/// least, else as they do, with Student t errors by iterated reweighting, so that one configuration that changed is not
/// taken for a changed machine.
struct Offset {
  static constexpr double kPriorSd = 0.1;
  static constexpr double kLeastSd = 0.02;
  double mean = 0;
  double sd = kPriorSd;
};
/// Estimates the offset. `differences`: log time now minus log time then, one for each configuration measured again.
[[nodiscard]] Offset offset_of(std::span<const double> differences);

}  // namespace nocturne::search::history
