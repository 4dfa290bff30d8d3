#pragma once

/// A campaign taken out of the database, with all that was measured in it and its run folders.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "tuner/cli/context.hpp"

namespace nocturne::cli {

/// What goes with a campaign, what stays, and who will miss it.
struct CampaignRemoval {
  db::CampaignSummary campaign;
  std::vector<std::filesystem::path> folders{};  ///< of its runs, in the runs folder; not of those that others reuse
  std::int64_t bytes = 0;                        ///< of these
  std::int64_t reused = 0;                       ///< its trials whose runs go on in others
  std::vector<std::string> learnt{};             ///< campaigns that began with what it knows: "night --generation 1"
};

[[nodiscard]] CampaignRemoval plan_removal(const db::Store& store, const Context& context,
                                           const db::CampaignSummary& campaign);

/// Removes it, first from the database: what a kill then leaves are folders that no record names, for the next
/// 'clean'. Throws db::Error: Owned where a living process tunes it. Gives the folders that could not be removed.
[[nodiscard]] std::vector<std::filesystem::path> remove_campaign(const CampaignRemoval& removal, db::Store& store,
                                                                 const Context& context);

}  // namespace nocturne::cli
