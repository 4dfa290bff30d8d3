#include "tuner/campaign/stored_space.hpp"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/campaign_file/framework_values.hpp"

namespace nocturne::tuner {
namespace {

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
