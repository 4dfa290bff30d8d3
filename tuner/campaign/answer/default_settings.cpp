#include "tuner/campaign/answer/default_settings.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "tuner/campaign/stored_document.hpp"

namespace nocturne::tuner {
namespace {

std::optional<space::Value> copy(const space::Value* value) {
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

}  // namespace

DefaultSettings::DefaultSettings(const nlohmann::json& document, std::span<const db::StoredTrial> trials) {
  for (const space::ParameterSpec& each : parameters_of(document)) {
    order_.push_back(each.name);
    if (each.default_value) usual_.set(each.name, *each.default_value);
  }
  const auto first = std::ranges::find(trials, 0, [](const db::StoredTrial& each) { return each.trial.number; });
  if (first != trials.end()) know(first->trial.configuration);
}

void DefaultSettings::know(const space::Configuration& first) {
  for (const auto& [name, value] : first.values()) usual_.set(name, value);
}

space::Configuration DefaultSettings::differing(const space::Configuration& configuration) const {
  space::Configuration settings;
  for (const auto& [name, value] : configuration.values()) {
    const space::Value* there = usual_.find(name);
    if (there == nullptr || *there != value) settings.set(name, value);
  }
  return settings;
}

std::string DefaultSettings::text(const space::Configuration& configuration) const {
  space::Configuration left = differing(configuration);
  if (left.empty()) return "default";
  std::string line;
  const auto add = [&line](const std::string& name, const space::Value& value) {
    line += fmt::format("{}{}={}", line.empty() ? "" : " ", name, space::to_text(value));
  };
  for (const std::string& name : order_) {
    if (const space::Value* value = left.find(name)) {
      add(name, *value);
      left.erase(name);
    }
  }
  for (const auto& [name, value] : left.values()) add(name, value);
  return line;
}

DefaultSettings default_settings_of(const db::Store& store, const db::CampaignSummary& campaign) {
  // Without trial 0 the document alone says what is usual.
  const auto first = store.find_trial(campaign.id, 0);
  return first ? DefaultSettings(campaign.spec, {&*first, 1}) : DefaultSettings(campaign.spec, {});
}

std::vector<Change> changes_between(const space::Configuration& from, const space::Configuration& to) {
  std::vector<Change> changes;
  for (const auto& [name, value] : from.values()) {
    const space::Value* other = to.find(name);
    if (other == nullptr || *other != value) changes.push_back({name, value, copy(other)});
  }
  for (const auto& [name, value] : to.values())
    if (from.find(name) == nullptr) changes.push_back({name, std::nullopt, value});
  return changes;
}

}  // namespace nocturne::tuner
