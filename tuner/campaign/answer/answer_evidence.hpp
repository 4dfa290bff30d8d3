#pragma once

/// What an answer's verdict and accuracy rest on.

#include <optional>

#include "db/store.hpp"
#include "measure/comparison/planned_looks.hpp"
#include "measure/gate/loss_band.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/campaign/finals/stored_pairs.hpp"

namespace nocturne::tuner {

struct AnswerPairs {
  StoredPairs stored;
  measure::ComparisonPolicy policy;  ///< when they are judged
};
/// The pairs of the answer's comparison. Empty: there is none, or its sides cannot be read.
[[nodiscard]] std::optional<AnswerPairs> pairs_of(const db::Store& store, const Answer& answer);

/// The best's accuracy against the default's. Empty: one of them is not known, or they are the same trial.
[[nodiscard]] std::optional<measure::AccuracyDifference> accuracy_difference(const Answer& answer);

}  // namespace nocturne::tuner
