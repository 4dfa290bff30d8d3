#include "tuner/cli/upkeep/campaign_removal.hpp"

#include <algorithm>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "space/folder_entries.hpp"
#include "tuner/campaign/unix_time.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/upkeep/leftovers.hpp"

namespace nocturne::cli {
namespace {

namespace fs = std::filesystem;

std::set<db::TrialId> trials_of(const db::Store& store, db::CampaignId campaign) {
  std::set<db::TrialId> trials;
  for (const db::StoredTrial& trial : store.list_trials({.campaign = campaign})) trials.insert(trial.id);
  return trials;
}

}  // namespace

CampaignRemoval plan_removal(const db::Store& store, const Context& context, const db::CampaignSummary& campaign) {
  CampaignRemoval removal{.campaign = campaign};
  const std::set<db::TrialId> trials = trials_of(store, campaign.id);
  std::set<db::TrialId> reused;
  for (const db::CampaignSummary& other : store.list_campaigns()) {
    if (other.id == campaign.id) continue;
    for (const db::StoredTrial& trial : store.list_trials({.campaign = other.id}))
      if (trial.reused_from && trials.contains(*trial.reused_from)) reused.insert(*trial.reused_from);
    if (std::ranges::any_of(store.history(other.id),
                            [&](const auto& source) { return source.campaign == campaign.id; }))
      removal.learnt.push_back(words_for(other));
  }
  removal.reused = std::ssize(reused);
  for (const db::RunFolder& run : store.run_folders(tuner::now_unix_ns())) {
    if (!trials.contains(run.trial) || reused.contains(run.trial) || !is_run_folder(run, context.runs_folder()))
      continue;
    removal.folders.push_back(fs::path(run.folder).lexically_normal());
    removal.bytes += folder_bytes(removal.folders.back());
  }
  return removal;
}

std::vector<fs::path> remove_campaign(const CampaignRemoval& removal, db::Store& store, const Context& context) {
  store.remove_campaign(removal.campaign.id);
  std::vector<fs::path> left;
  for (const fs::path& folder : removal.folders) {
    std::error_code error;
    fs::remove_all(folder, error);
    if (error) left.push_back(folder);
  }
  // Beside the database: its heartbeat, and what best and model worked out.
  const std::string begin = context.database().filename().string() + "-";
  const std::string end = fmt::format("-{}.json", removal.campaign.id);
  for (const fs::directory_entry& entry : space::entries_of(context.database().parent_path())) {
    std::error_code ignored;
    const std::string name = entry.path().filename().string();
    if (name.starts_with(begin) && name.ends_with(end)) fs::remove(entry.path(), ignored);
  }
  return left;
}

}  // namespace nocturne::cli
