#include "tuner/campaign/replay_history.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "tuner/campaign/recorded_campaign.hpp"
#include "tuner/campaign/stored_document.hpp"

namespace nocturne::tuner {
namespace {

std::filesystem::path real_path(const std::filesystem::path& path) {
  std::error_code error;
  auto result = std::filesystem::canonical(path, error);
  return error ? path : result;
}

}  // namespace

std::expected<void, std::string> ReplayHistory::add_database(const std::filesystem::path& path) {
  const auto store = db::Store::open(path, db::Mode::ReadOnly);
  for (const db::CampaignSummary& each : store.list_campaigns()) {
    if (!each.finished_unix_ns || each.ok == 0) continue;
    auto history = load_history(store, {{.campaign = each.id, .same = false, .trials = each.trials}}, {});
    campaigns_.push_back({real_path(path), each.identity, circumstances_of(store, each), std::move(history.front())});
  }
  if (campaigns_.empty()) return std::unexpected(fmt::format("{}: no campaign in it is finished", path.string()));
  return {};
}

std::expected<void, std::string> ReplayHistory::is_campaign(const std::filesystem::path& path,
                                                            const std::string& campaign) {
  const auto found = find_file_campaign(path, campaign);
  if (!found) return std::unexpected(found.error());
  own_.push_back({found->campaign.name, real_path(path), found->campaign.identity,
                  circumstances_of(found->store, found->campaign)});
  return {};
}

const ReplayHistory::Own* ReplayHistory::own(const std::string& space) const {
  const auto found = std::ranges::find(own_, space, &Own::space);
  return found == own_.end() ? nullptr : &*found;
}

std::vector<search::History> ReplayHistory::of(const search::replay::RecordedSpace& space, std::uint64_t seed) const {
  std::vector<search::History> same, ranks;
  const Own* campaign = own(space.name());
  for (const PastCampaign& past : campaigns_) {
    if (campaign != nullptr && campaign->database == past.database && campaign->identity == past.identity) continue;
    auto history = past.history;
    const bool alike = campaign != nullptr && are_same(campaign->circumstances, past.circumstances);
    history.same_machine_and_workload = alike && any_in_space(history.trials, space.space());
    const auto objective = campaign != nullptr ? objective_of(campaign->circumstances.document) : space::Objective();
    for (space::Trial& trial : history.trials) {
      if (trial.estimate && trial.parts) trial.estimate->value = space::total_time(*trial.parts, objective.primary);
      trial.parts.reset();  // recorded spaces know one horizon
    }
    (history.same_machine_and_workload ? same : ranks).push_back(std::move(history));
  }
  for (const auto& recorded : spaces_) {
    if (recorded.name() == space.name()) {
      same.push_back(search::replay::earlier_campaign(space, trials_, seed));
    } else {
      ranks.push_back(search::replay::sampled_campaign(recorded, trials_, seed));
    }
  }
  std::ranges::move(ranks, std::back_inserter(same));
  return same;
}

}  // namespace nocturne::tuner
