#pragma once

/// What a campaign learns from the finished ones of the database before its first trial.
///
/// Same machine and workload: the fields of the fingerprint that must match are equal (space::Fingerprint::key), as are
/// network, data, optimizer, worker, and at least one trial is a configuration of the present space. Everything else
/// ranks: another machine first, then another workload or space; the newest first.
///
/// Which ones they are is stored when a campaign begins, with the number of their trials: a campaign that is resumed
/// knows what it knew, whatever was finished or went on since.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "search/registry.hpp"
#include "space/budget.hpp"
#include "space/fingerprint.hpp"
#include "space/objective.hpp"
#include "space/space.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::tuner {

/// Campaigns, the newest, and trials of a campaign that are read at most.
inline constexpr std::size_t kMostSameCampaigns = 16;
inline constexpr std::size_t kMostRankingCampaigns = 4;
inline constexpr std::int64_t kMostTrialsOfCampaign = 5000;

/// What decides whether another campaign measured the same.
struct Circumstances {
  nlohmann::json document;      ///< the campaign's file, as stored
  std::string fingerprint_key;  ///< the machine's, as fingerprint.hpp makes it
};

/// Circumstances of a stored campaign.
[[nodiscard]] Circumstances circumstances_of(const db::Store& store, const db::CampaignSummary& campaign);

/// Whether what the one measured the other would have measured, too: machine, workload and worker.
[[nodiscard]] bool are_same(const Circumstances& a, const Circumstances& b);

/// Whether any of them is a configuration of that space.
[[nodiscard]] bool any_in_space(std::span<const space::Trial> trials, const space::Space& space);

/// Finished campaigns of the store that a new one in this space learns from, the most telling first.
[[nodiscard]] std::vector<db::HistorySource> choose_history(const db::Store& store, const Circumstances& present,
                                                            const space::Space& space);

/// What makes a timeout of the past a failure: the run waited about as long as the present deadline, or so long that
/// waiting again is not worth that share of the present budget.
[[nodiscard]] std::chrono::nanoseconds hopeless_wait(const RunSettings& run, const Budget& budget);

/// Their trials. Times are those of the present objective: of trials with parts, T at its primary horizon. A timeout
/// is left out, as the deadline may be another, but where a run of the same machine and workload waited `hopeless`.
[[nodiscard]] std::vector<search::History> load_history(const db::Store& store,
                                                        const std::vector<db::HistorySource>& sources,
                                                        const space::Objective& objective,
                                                        std::optional<std::chrono::nanoseconds> hopeless = {});

/// What a campaign knew when it began; nothing where its strategy does not learn from it.
[[nodiscard]] std::vector<search::History> history_of(const db::Store& store, db::CampaignId campaign,
                                                      const std::string& strategy, const space::Objective& objective,
                                                      std::optional<std::chrono::nanoseconds> hopeless = {});

/// "history: 2 campaigns, 118 trials of this machine and workload; 1 campaign of
/// another machine, workload or space gives a first order". Counts trials that are
/// configurations of this space. Empty: there is no history.
[[nodiscard]] std::string to_text(const std::vector<search::History>& history, const space::Space& space);

}  // namespace nocturne::tuner
