#include "tuner/campaign/history.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "search/history/past_trials.hpp"
#include "space/lattice.hpp"
#include "space/word_list.hpp"
#include "tuner/campaign/stored_document.hpp"

namespace nocturne::tuner {
namespace {

using std::chrono::nanoseconds;

nlohmann::json section(const nlohmann::json& document, const char* name) {
  return document.is_object() ? document.value(name, nlohmann::json::object()) : nlohmann::json::object();
}

/// The sections that say what is trained by what, with what a file may leave out.
bool same_workload(const nlohmann::json& a, const nlohmann::json& b) {
  return workload_of(a) == workload_of(b) && section(a, "worker") == section(b, "worker");
}

bool same_objective(const nlohmann::json& a, const nlohmann::json& b) {
  const space::Objective one = objective_of(a), other = objective_of(b);
  return one.minimise == other.minimise && one.target == other.target;
}

std::vector<db::StoredTrial> trials_of(const db::Store& store, db::CampaignId campaign) {
  return store.list_trials({.campaign = campaign, .state = db::TrialState::Finished, .limit = kMostTrialsOfCampaign});
}

bool timed_out(const db::StoredTrial& each) {
  return each.trial.outcome == space::Outcome::Timeout;
}

/// Numbers of those of a campaign's trials whose run timed out after so long. Runs are read where any has.
std::set<std::int64_t> waited_for(const db::Store& store, db::CampaignId campaign,
                                  const std::vector<db::StoredTrial>& trials, nanoseconds hopeless) {
  std::set<std::int64_t> waited;
  if (std::ranges::none_of(trials, timed_out)) return waited;
  for (const db::RunSpan& each : store.run_spans(campaign))
    if (each.outcome == space::Outcome::Timeout && each.wall >= hopeless) waited.insert(each.trial);
  return waited;
}

}  // namespace

bool are_same(const Circumstances& a, const Circumstances& b) {
  return a.fingerprint_key == b.fingerprint_key && same_workload(a.document, b.document);
}

bool any_in_space(std::span<const space::Trial> trials, const space::Space& space) {
  space::Lattice lattice(space);
  return std::ranges::any_of(trials, [&](const space::Trial& each) {
    return search::history::same_point(lattice, each.configuration).has_value();
  });
}

Circumstances circumstances_of(const db::Store& store, const db::CampaignSummary& campaign) {
  Circumstances result{.document = campaign.spec, .fingerprint_key = {}};
  if (campaign.fingerprint.empty()) return result;
  const auto stored = store.load_fingerprint(campaign.fingerprint);
  if (const auto fingerprint = space::Fingerprint::from_json(stored.fields))
    result.fingerprint_key = fingerprint->key();
  return result;
}

std::vector<db::HistorySource> choose_history(const db::Store& store, const Circumstances& present,
                                              const space::Space& space) {
  auto campaigns = store.list_campaigns();
  std::erase_if(campaigns, [](const db::CampaignSummary& each) { return !each.finished_unix_ns || each.ok == 0; });
  std::ranges::stable_sort(campaigns, std::ranges::greater(), &db::CampaignSummary::created_unix_ns);
  std::vector<db::HistorySource> same, of_workload, others;
  for (const db::CampaignSummary& each : campaigns) {
    const auto past = circumstances_of(store, each);
    if (!same_objective(past.document, present.document)) continue;
    const bool workload = same_workload(past.document, present.document);
    db::HistorySource source{.campaign = each.id, .same = false, .trials = each.trials};
    if (are_same(past, present) && same.size() < kMostSameCampaigns) {
      const auto history = load_history(store, {source}, {});
      source.same = any_in_space(history.front().trials, space);
    }
    (source.same ? same : workload ? of_workload : others).push_back(source);
  }
  std::ranges::move(others, std::back_inserter(of_workload));
  if (of_workload.size() > kMostRankingCampaigns) of_workload.resize(kMostRankingCampaigns);
  std::ranges::move(of_workload, std::back_inserter(same));
  return same;
}

nanoseconds hopeless_wait(const RunSettings& run, const Budget& budget) {
  const nanoseconds wait = run.deadline * 4 / 5;
  return budget.wall ? std::min<nanoseconds>(wait, *budget.wall / 5) : wait;
}

std::vector<search::History> load_history(const db::Store& store, const std::vector<db::HistorySource>& sources,
                                          const space::Objective& objective, std::optional<nanoseconds> hopeless) {
  std::vector<search::History> history;
  for (const db::HistorySource& source : sources) {
    auto trials = trials_of(store, source.campaign);
    search::History campaign{.same_machine_and_workload = source.same, .trials = {}};
    std::set<std::int64_t> failures;
    if (source.same && hopeless) failures = waited_for(store, source.campaign, trials, *hopeless);
    for (db::StoredTrial& each : trials) {
      campaign.name = each.campaign_name;
      if (each.trial.number >= source.trials) continue;
      if (timed_out(each) && !failures.contains(each.trial.number)) continue;
      if (each.trial.estimate && each.trial.parts)
        each.trial.estimate->value = space::total_time(*each.trial.parts, objective.primary);
      campaign.trials.push_back(std::move(each.trial));
    }
    history.push_back(std::move(campaign));
  }
  return history;
}

std::vector<search::History> history_of(const db::Store& store, db::CampaignId campaign, const std::string& strategy,
                                        const space::Objective& objective, std::optional<nanoseconds> hopeless) {
  if (!search::uses_history(strategy)) return {};
  const auto sources = store.history(campaign);
  return load_history(store, sources, objective, hopeless);
}

std::string to_text(const std::vector<search::History>& history, const space::Space& space) {
  space::Lattice lattice(space);
  std::size_t campaigns = 0, ranking = 0;
  std::set<std::string> configurations;
  for (const search::History& each : history) {
    if (!each.same_machine_and_workload) {
      ++ranking;
      continue;
    }
    ++campaigns;
    for (const space::Trial& trial : each.trials)
      if (search::history::same_point(lattice, trial.configuration))
        configurations.insert(trial.configuration.identity());
  }
  std::string text;
  if (campaigns > 0) {
    text = fmt::format("{}, {} of this machine and workload", space::counted(campaigns, "campaign", "campaigns"),
                       space::counted(configurations.size(), "trial", "trials"));
  }
  if (ranking > 0) {
    text += fmt::format("{}{} of another machine, workload or space {}", text.empty() ? "" : "; ",
                        space::counted(ranking, "campaign", "campaigns"),
                        ranking == 1 ? "gives a first order" : "give a first order");
  }
  return text.empty() ? text : "history: " + text;
}

}  // namespace nocturne::tuner
