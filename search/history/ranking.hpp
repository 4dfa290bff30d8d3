#pragma once

/// A past campaign of another machine or workload, as an order of the present points.
///
/// A linear model is fitted to it alone; its mean is what the present model gets as a physical feature
/// (model/design.hpp). The feature's weight is chosen by marginal likelihood with all others, so that an order that
/// does not explain the present counts for nothing, and a reversed one is seen through. Absolute times are never
/// compared.

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>

#include "search/model/linear_model.hpp"
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

}  // namespace nocturne::search::history
