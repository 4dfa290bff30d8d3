#pragma once

/// What a stored campaign's document says, with the rules of campaign files for what it leaves out; and its space, into
/// the database and out of it again: parameters as they were resolved, constraints as the file had them, and what they
/// knew of the machine.

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "db/store.hpp"
#include "measure/comparison/planned_looks.hpp"
#include "space/facts.hpp"
#include "space/objective.hpp"
#include "space/space.hpp"
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

/// A space as it is stored.
[[nodiscard]] std::vector<db::ParameterRecord> parameter_records(const space::Space& space);

struct StoredSpace {
  space::Space space;
  space::Facts facts;  ///< facts about the machine that tuned, as they were then
  /// A sentence for each constraint that cannot be evaluated with what is stored, and is not in force therefore.
  std::vector<std::string> without{};
};

/// Made with what was stored alone, so that a database says the same on every machine. The error is a sentence.
[[nodiscard]] std::expected<StoredSpace, std::string> stored_space(const db::Store& store,
                                                                   const db::CampaignSummary& campaign);

}  // namespace nocturne::tuner
