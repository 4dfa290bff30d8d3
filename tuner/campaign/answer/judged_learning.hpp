#pragma once

/// What was judged of a changed script's learning (finals/learning_gate.hpp), as it is stored with the trial's runs.

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "db/records.hpp"
#include "measure/gate/learning.hpp"

namespace nocturne::tuner {

using JudgedLearning = measure::LearningJudgement;

/// Puts the judgement into what a run's worker said of itself.
void store_judgement(const JudgedLearning& judged, nlohmann::json& ready);

/// What the trial's last judged run says. Empty: it was not looked at.
[[nodiscard]] std::optional<JudgedLearning> judged_learning(const db::TrialDetail& trial);

}  // namespace nocturne::tuner
