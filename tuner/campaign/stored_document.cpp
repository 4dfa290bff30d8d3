#include "tuner/campaign/stored_document.hpp"

#include <algorithm>

namespace nocturne::tuner {
namespace {

nlohmann::json section_of(const nlohmann::json& document, const char* name) {
  const auto found = document.find(name);
  return found != document.end() && found->is_object() ? *found : nlohmann::json::object();
}

}  // namespace

space::Objective objective_of(const nlohmann::json& document) {
  space::Objective objective;
  const nlohmann::json described = section_of(document, "objective");
  objective.minimise = described.value("minimise", objective.minimise);
  objective.epochs = described.value("epochs", objective.epochs);
  // The rule of campaign files: 12 where it is a horizon, else the last one.
  const bool has_twelve = std::ranges::find(objective.epochs, 12.0) != objective.epochs.end();
  objective.primary =
      described.value("primary", has_twelve || objective.epochs.empty() ? 12.0 : objective.epochs.back());
  return objective;
}

space::Workload workload_of(const nlohmann::json& document) {
  return space::workload_from_json(section_of(document, "workload"));
}

JudgingRules judging_rules_of(const nlohmann::json& document) {
  JudgingRules rules;
  const nlohmann::json described = section_of(document, "verify");
  rules.pairs = described.value("pairs", rules.pairs);
  rules.most_pairs = std::max(rules.pairs, described.value("most_pairs", rules.most_pairs));
  rules.margin_percent = described.value("margin_percent", rules.margin_percent);
  rules.accuracy_epochs = described.value("accuracy_epochs", rules.accuracy_epochs);
  if (const auto gate = described.find("gate"); gate != described.end() && gate->is_object()) {
    rules.accuracy_margin = gate->value("accuracy_margin", rules.accuracy_margin);
  }
  return rules;
}

}  // namespace nocturne::tuner
