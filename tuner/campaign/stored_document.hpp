#pragma once

/// What a stored campaign's document says, with the rules of campaign files for what it leaves out.

#include <cstdint>

#include <nlohmann/json.hpp>

#include "measure/comparison/planned_looks.hpp"
#include "space/objective.hpp"
#include "space/workload.hpp"

namespace nocturne::tuner {

[[nodiscard]] space::Objective objective_of(const nlohmann::json& document);
[[nodiscard]] space::Workload workload_of(const nlohmann::json& document);

/// How the comparisons of a campaign are judged.
struct JudgingRules : measure::ComparisonPolicy {
  std::int64_t accuracy_epochs = 1;  ///< trained before an accuracy is read; 0: none is
  double accuracy_margin = 0.5;      ///< points (percent of the images) that it may be lower
};
[[nodiscard]] JudgingRules judging_rules_of(const nlohmann::json& document);

}  // namespace nocturne::tuner
