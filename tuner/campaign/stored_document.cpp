#include "tuner/campaign/stored_document.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/campaign_file/framework_values.hpp"

namespace nocturne::tuner {
namespace {

nlohmann::json section_of(const nlohmann::json& document, const char* name) {
  const auto found = document.find(name);
  return found != document.end() && found->is_object() ? *found : nlohmann::json::object();
}

space::Bound bound_of(const nlohmann::json& number) {
  if (number.is_number_integer()) return number.get<std::int64_t>();
  if (number.is_number()) return number.get<double>();
  return number.get<std::string>();
}

space::DomainSpec domain_of(const db::ParameterRecord& record) {
  const auto& domain = record.domain;
  std::string type = domain.value("type", "");
  if (type.empty()) {
    type = domain.contains("range") ? (domain["range"].at(0).is_number_float() ? "real" : "integer") : "categorical";
  }
  if (type == "boolean") return space::BooleanSpec{};
  if (domain.contains("range")) {
    const auto lower = bound_of(domain["range"].at(0));
    const auto upper = bound_of(domain["range"].at(1));
    const bool logarithmic = domain.value("logarithmic", false);
    if (type == "real") return space::RealRangeSpec{.lower = lower, .upper = upper, .logarithmic = logarithmic};
    const auto step = domain.contains("step") ? bound_of(domain["step"]) : space::Bound(std::int64_t{1});
    return space::IntegerRangeSpec{.lower = lower, .upper = upper, .step = step, .logarithmic = logarithmic};
  }
  std::vector<space::Value> values;
  for (const auto& each : domain.at("values")) values.push_back(space::value_from_json(each));
  if (type == "ordinal") return space::OrdinalSpec{.values = std::move(values)};
  return space::CategoricalSpec{.values = std::move(values)};
}

space::ParameterSpec spec_of(const db::ParameterRecord& record) {
  space::ParameterSpec spec{.name = record.name, .stage = record.stage, .domain = domain_of(record)};
  if (!record.default_value.is_null()) spec.default_value = space::value_from_json(record.default_value);
  spec.unit = record.unit;
  spec.description = record.description;
  spec.active_if = record.active_if;
  return spec;
}

std::vector<space::ConstraintSpec> constraints_of(const nlohmann::json& document) {
  std::vector<space::ConstraintSpec> constraints;
  const auto section = document.value("/space/constraints"_json_pointer, nlohmann::json::array());
  for (const auto& each : section) {
    constraints.push_back({.require = each.value("require", ""), .because = each.value("because", "")});
  }
  for (const UnavailableFramework& each : stored_unavailable(document)) constraints.push_back(constraint_against(each));
  return constraints;
}

/// The first constraint that is in the way of the space: its index and what is wrong with it.
std::optional<std::pair<std::size_t, std::string>> bad_constraint(const std::vector<space::SpaceError>& errors) {
  constexpr std::string_view kBegin = "/constraints/";
  for (const space::SpaceError& each : errors) {
    if (!each.path.starts_with(kBegin)) continue;
    return std::pair(static_cast<std::size_t>(std::stoull(each.path.substr(kBegin.size()))), each.message);
  }
  return std::nullopt;
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

std::vector<db::ParameterRecord> parameter_records(const space::Space& space) {
  std::vector<db::ParameterRecord> records;
  for (const space::Parameter& parameter : space.parameters()) {
    nlohmann::json domain = parameter.to_json();
    for (const char* elsewhere : {"name", "stage", "default", "unit", "description", "active_if"}) {
      domain.erase(elsewhere);
    }
    records.push_back({.name = parameter.name,
                       .stage = parameter.stage,
                       .domain = std::move(domain),
                       .default_value = space::to_json(parameter.default_value),
                       .active_if = parameter.active_if,
                       .unit = parameter.unit,
                       .description = parameter.description});
  }
  return records;
}

std::expected<StoredSpace, std::string> stored_space(const db::Store& store, const db::CampaignSummary& campaign) {
  const auto records = store.parameters(campaign.id);
  if (records.empty()) return std::unexpected(fmt::format("'{}' has no parameters stored", campaign.name));
  std::vector<space::ParameterSpec> parameters;
  try {
    for (const auto& each : records) parameters.push_back(spec_of(each));
  } catch (const std::exception& error) {  // a domain that is not what we write
    return std::unexpected(fmt::format("a parameter of '{}' cannot be read: {}", campaign.name, error.what()));
  }
  space::Facts facts = stored_facts(campaign.spec);
  auto constraints = constraints_of(campaign.spec);
  std::vector<std::string> without;
  while (true) {
    auto space = space::Space::create(parameters, constraints, facts);
    if (space) {
      return StoredSpace{.space = *std::move(space), .facts = std::move(facts), .without = std::move(without)};
    }
    const auto bad = bad_constraint(space.error());
    if (!bad) return std::unexpected(space.error().front().to_text());
    const auto& [index, wrong] = *bad;
    without.push_back(fmt::format("without the constraint '{}': {}", constraints[index].require, wrong));
    constraints.erase(constraints.begin() + static_cast<std::ptrdiff_t>(index));
  }
}

}  // namespace nocturne::tuner
