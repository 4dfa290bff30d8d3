#pragma once

/// What a stored campaign's document says, read by the readers of campaign files: so that a default means the same
/// wherever a campaign comes from. Nothing is checked again, and this machine is not asked: what cannot be read keeps
/// its default. Throws nlohmann::json::exception where a value is of another type than any file may give it.

#include <vector>

#include <nlohmann/json.hpp>

#include "space/objective.hpp"
#include "space/parameter.hpp"
#include "space/space.hpp"
#include "space/workload.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::tuner {

[[nodiscard]] CampaignSections sections_of(const nlohmann::json& document);
[[nodiscard]] space::Objective objective_of(const nlohmann::json& document);
[[nodiscard]] space::Workload workload_of(const nlohmann::json& document);

/// As the file has them, in its order: what was made of them on the machine that tuned is in the database
/// (stored_space.hpp). One that cannot be read is left out.
[[nodiscard]] std::vector<space::ParameterSpec> parameters_of(const nlohmann::json& document);
[[nodiscard]] std::vector<space::ConstraintSpec> constraints_of(const nlohmann::json& document);

/// The values of a list; none where the domain is no list.
[[nodiscard]] std::vector<space::Value> listed_values(const space::DomainSpec& domain);

}  // namespace nocturne::tuner
