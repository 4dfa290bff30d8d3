#pragma once

/// Whether intervals keep what they promise.

#include <cstddef>
#include <span>

#include "search/model/linear_model.hpp"
#include "space/lattice.hpp"

namespace nocturne::search::model {

/// How many of some values lay where they were predicted.
struct Coverage {
  std::size_t inside = 0;
  std::size_t below = 0;  ///< faster than the interval's lower end
  std::size_t above = 0;
  [[nodiscard]] std::size_t total() const { return inside + below + above; }
  [[nodiscard]] double share() const {
    return total() == 0 ? 0 : static_cast<double>(inside) / static_cast<double>(total());
  }
};

/// Counts how many points that the model was not told lie inside their central intervals of that confidence, widened by
/// the factor `extra`. `log_values`: their log objectives.
/// REQUIRES: as many values as points; the model was told at least one trial.
[[nodiscard]] Coverage calibration(LinearModel& model, const space::PointList& points,
                                   std::span<const double> log_values, double confidence = 0.9, double extra = 1);

}  // namespace nocturne::search::model
