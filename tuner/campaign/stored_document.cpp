#include "tuner/campaign/stored_document.hpp"

#include <exception>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/campaign_file/framework_values.hpp"
#include "tuner/campaign_file/parameter_section.hpp"
#include "tuner/campaign_file/sections.hpp"
#include "tuner/campaign_file/shipped_build.hpp"
#include "tuner/campaign_file/space_section.hpp"
#include "tuner/installation/frameworks.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::tuner {
namespace {

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

CampaignSections sections_of(const nlohmann::json& document) {
  const Document stored{.value = document, .places = {}};  // it stands in no file, and its paths are absolute
  Checks checks(stored);
  CampaignSections sections = read_sections(checks, "/", "stored", Frameworks());
  sections.worker.answers = stored_answers(document);
  return sections;
}

space::Objective objective_of(const nlohmann::json& document) {
  return sections_of(document).objective;
}

space::Workload workload_of(const nlohmann::json& document) {
  return sections_of(document).workload;
}

std::vector<space::ParameterSpec> parameters_of(const nlohmann::json& document) {
  std::vector<space::ParameterSpec> parameters;
  const Document none{};
  for (const nlohmann::json& each : document.value("/space/parameters"_json_pointer, nlohmann::json::array())) {
    try {
      Checks checks(none);
      if (auto spec = parameter_spec(checks, "", each)) parameters.push_back(*std::move(spec));
    } catch (const std::exception&) {
      // No file of ours has such a one.
    }
  }
  return parameters;
}

std::vector<space::ConstraintSpec> constraints_of(const nlohmann::json& document) {
  const Document stored{.value = document, .places = {}};
  Checks checks(stored);
  return read_constraints(checks);
}

std::string tune_command(const nlohmann::json& document) {
  return command_text("tune", tunes_own_command(document) ? "-- COMMAND" : "FILE");
}

bool tunes_own_command(const nlohmann::json& document) {
  return document.contains("/worker/template"_json_pointer);
}

std::vector<space::Value> listed_values(const space::DomainSpec& domain) {
  if (const auto* ordinal = std::get_if<space::OrdinalSpec>(&domain)) return ordinal->values;
  if (const auto* categorical = std::get_if<space::CategoricalSpec>(&domain)) return categorical->values;
  return {};
}

std::optional<space::ParameterSpec> parameter_of(const db::ParameterRecord& record) {
  if (!record.domain.is_object()) return std::nullopt;
  nlohmann::json described = record.domain;
  described["name"] = record.name;
  described["stage"] = space::to_text(record.stage);
  if (!record.default_value.is_null()) described["default"] = record.default_value;
  described["unit"] = record.unit;
  described["description"] = record.description;
  described["active_if"] = record.active_if;
  if (described.value("type", "") == "boolean") described.erase("values");  // are listed for those who read the record
  const Document none{};
  Checks checks(none);
  return parameter_spec(checks, "", described);
}

std::vector<db::ParameterRecord> parameter_records(const space::Space& space) {
  std::vector<db::ParameterRecord> records;
  for (const space::Parameter& parameter : space.parameters()) {
    nlohmann::json domain = parameter.to_json();
    for (const char* elsewhere : {"name", "stage", "default", "unit", "description", "active_if"})
      domain.erase(elsewhere);
    if (domain.erase("logarithmic") > 0) domain["scale"] = "logarithmic";  // as a file says it
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
    for (const auto& each : records) parameters.push_back(parameter_of(each).value());
  } catch (const std::exception& error) {  // a domain that is not what we write
    return std::unexpected(fmt::format("a parameter of '{}' cannot be read: {}", campaign.name, error.what()));
  }
  space::Facts facts = stored_facts(campaign.spec);
  auto constraints = constraints_of(campaign.spec);
  for (const UnavailableFramework& each : stored_unavailable(campaign.spec))
    constraints.push_back(constraint_against(each));
  // The records have its defaults already.
  if (!tunes_own_command(campaign.spec) && !campaign.spec.contains("/worker/command"_json_pointer))
    (void)keep_shipped_build(parameters, constraints, facts);
  std::vector<std::string> without;
  while (true) {
    auto space = space::Space::create(parameters, constraints, facts);
    if (space) return StoredSpace{.space = *std::move(space), .facts = std::move(facts), .without = std::move(without)};
    const auto bad = bad_constraint(space.error());
    if (!bad) return std::unexpected(space.error().front().to_text());
    const auto& [index, wrong] = *bad;
    without.push_back(fmt::format("without the constraint '{}': {}", constraints[index].require, wrong));
    constraints.erase(constraints.begin() + static_cast<std::ptrdiff_t>(index));
  }
}

}  // namespace nocturne::tuner
