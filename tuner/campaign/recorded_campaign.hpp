#pragma once

/// Stored campaigns for `nocturne replay`: as recorded spaces, whose rows are the finished trials, so that strategies
/// can be replayed on them; and as what runs of a replay know of earlier campaigns.

#include <cstddef>
#include <expected>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "search/replay/recorded_space.hpp"
#include "search/replay/replay.hpp"
#include "space/facts.hpp"
#include "space/objective.hpp"
#include "tuner/campaign/history.hpp"

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
/// reservation to end.
///
/// Generations of one identity that were measured afresh (tune --fresh) are passes over the same configurations: where
/// there are several, each row has a single time for each of its passes, and the objective is their median (of an even
/// number: the mean of the middle two), or it failed if the last of them did. The error is a sentence.
[[nodiscard]] std::expected<search::replay::RecordedSpace, std::string> recorded_campaign(
    const db::Store& store, const db::CampaignSummary& campaign);

/// A campaign of a database, read once.
struct PastCampaign {
  std::filesystem::path database;  ///< canonical
  std::string identity;            ///< shared by all generations that measured the same space
  Circumstances circumstances;
  search::History history;
};

/// All that `--history` names. Runs only read it.
///
/// A database of ours: its finished campaigns. One that measured the very space under the same circumstances (the space
/// comes from a database, too) is evidence, all others rank; a space's own campaign is left out, with all its
/// generations. A recorded space: as if so many of its configurations had been measured on another machine; where it is
/// the very space that is replayed, as if `auto` had been run on it before, with another seed for each run.
class ReplayHistory {
 public:
  /// `trials`: of each recorded space.
  explicit ReplayHistory(std::size_t trials) : trials_(trials) {}

  [[nodiscard]] std::expected<void, std::string> add_database(const std::filesystem::path& path);
  void add_space(search::replay::RecordedSpace space) { spaces_.push_back(std::move(space)); }
  /// A space that is replayed is that campaign of a database (empty: the one opened last), and not only a table.
  [[nodiscard]] std::expected<void, std::string> is_campaign(const std::filesystem::path& path,
                                                             const std::string& campaign);
  [[nodiscard]] bool empty() const { return campaigns_.empty() && spaces_.empty(); }

  /// What the run with that seed knows.
  [[nodiscard]] std::vector<search::History> of(const search::replay::RecordedSpace& space, std::uint64_t seed) const;

 private:
  struct Own {
    std::string space;
    std::filesystem::path database;
    std::string identity;
    Circumstances circumstances;
  };
  [[nodiscard]] const Own* own(const std::string& space) const;

  std::size_t trials_;
  std::vector<PastCampaign> campaigns_;
  std::vector<search::replay::RecordedSpace> spaces_;
  std::vector<Own> own_;
};

}  // namespace nocturne::tuner
