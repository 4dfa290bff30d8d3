#include "tuner/campaign/stored_document.hpp"

#include <exception>
#include <utility>
#include <variant>

#include "tuner/campaign_file/parameter_section.hpp"
#include "tuner/campaign_file/sections.hpp"
#include "tuner/campaign_file/space_section.hpp"
#include "tuner/installation/frameworks.hpp"

namespace nocturne::tuner {

CampaignSections sections_of(const nlohmann::json& document) {
  const Document stored{.value = document, .places = {}};  // it stands in no file, and its paths are absolute
  Checks checks(stored);
  return read_sections(checks, "/", "stored", Frameworks());
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

std::vector<space::Value> listed_values(const space::DomainSpec& domain) {
  if (const auto* ordinal = std::get_if<space::OrdinalSpec>(&domain)) return ordinal->values;
  if (const auto* categorical = std::get_if<space::CategoricalSpec>(&domain)) return categorical->values;
  return {};
}

}  // namespace nocturne::tuner
