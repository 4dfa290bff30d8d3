#pragma once

/// What a stored campaign's document says, read by the readers of campaign files: so that a default means the same
/// wherever a campaign comes from. Nothing is checked again, and this machine is not asked: what cannot be read keeps
/// its default. Throws nlohmann::json::exception where a value is of another type than any file may give it. And the
/// campaign's space, into the database and out of it again: parameters as they were resolved, constraints as the file
/// had them, and what they knew of the machine.

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "db/store.hpp"
#include "space/facts.hpp"
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
/// (parameter_records()). One that cannot be read is left out.
[[nodiscard]] std::vector<space::ParameterSpec> parameters_of(const nlohmann::json& document);
[[nodiscard]] std::vector<space::ConstraintSpec> constraints_of(const nlohmann::json& document);

/// The command that goes on with a stored campaign, with a word in capitals for what the database does not know:
/// `nocturne tune FILE`, or `nocturne tune -- COMMAND` where it tunes a command of one's own.
[[nodiscard]] std::string tune_command(const nlohmann::json& document);
[[nodiscard]] bool tunes_own_command(const nlohmann::json& document);

/// The values of a list; none where the domain is no list.
[[nodiscard]] std::vector<space::Value> listed_values(const space::DomainSpec& domain);

/// A parameter as it is stored. Empty, or an exception of the standard library, where its domain is none of ours.
[[nodiscard]] std::optional<space::ParameterSpec> parameter_of(const db::ParameterRecord& record);

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
