#pragma once

/// A stored campaign as a recorded space: its finished trials are the rows, so that strategies can be replayed on it.

#include <expected>
#include <filesystem>
#include <string>

#include "db/store.hpp"
#include "search/replay/recorded_space.hpp"
#include "space/facts.hpp"

namespace nocturne::tuner {

/// A database file, open for reading, and one of its campaigns.
struct FileCampaign {
  db::Store store;
  db::CampaignSummary campaign;
};

/// The campaign of that name in a database file; an empty name: the one opened last. The error is a sentence. Throws
/// db::Error where the file cannot be read.
[[nodiscard]] std::expected<FileCampaign, std::string> find_file_campaign(const std::filesystem::path& path,
                                                                          const std::string& name);

/// Exactly the configurations that were measured are valid. Values of a parameter are those of its list, or those that
/// occur where it has a range. The objective is the estimate at the campaign's primary horizon, the cost the time from
/// claim to end.
///
/// Generations of one identity that were measured afresh (tune --fresh) are passes over the same configurations: where
/// there are several, each row has a single time for each of its passes, and the objective is their median (of an even
/// number: the mean of the middle two), or it failed if the last of them did. The error is a sentence.
[[nodiscard]] std::expected<search::replay::RecordedSpace, std::string> recorded_campaign(
    const db::Store& store, const db::CampaignSummary& campaign);

}  // namespace nocturne::tuner
