#include "tuner/campaign/recorded_campaign.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "measure/comparison/location.hpp"
#include "search/replay/cell_reader.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::tuner {
namespace {

namespace replay = search::replay;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// The last trial of a configuration, and what all of them measured.
struct MeasuredConfiguration {
  db::StoredTrial last;
  std::vector<double> values;
};

/// In the order in which they were asked first.
std::vector<MeasuredConfiguration> distinct(std::vector<db::StoredTrial> trials) {
  std::map<std::string, std::size_t> seen;
  std::vector<MeasuredConfiguration> result;
  for (auto& each : trials) {
    if (each.trial.outcome == space::Outcome::Killed) continue;
    const auto [place, is_new] = seen.emplace(each.trial.configuration.identity(), result.size());
    if (is_new) result.emplace_back();
    auto& measured = result[place->second];
    if (each.trial.estimate && !each.reused_from) measured.values.push_back(each.trial.estimate->value);
    measured.last = std::move(each);
  }
  return result;
}

/// Trials of all generations of the campaign's identity, the oldest first.
std::vector<db::StoredTrial> trials_of_all_passes(const db::Store& store, const db::CampaignSummary& campaign) {
  auto all = store.list_campaigns();
  std::erase_if(all, [&](const auto& each) {
    return each.name != campaign.name || each.identity != campaign.identity || each.fingerprint != campaign.fingerprint;
  });
  std::ranges::sort(all, {}, &db::CampaignSummary::generation);
  std::vector<db::StoredTrial> trials;
  for (const auto& pass : all) {
    std::ranges::move(store.list_trials({.campaign = pass.id, .state = db::TrialState::Finished}),
                      std::back_inserter(trials));
  }
  return trials;
}

std::vector<space::Value> occurring(const std::vector<MeasuredConfiguration>& trials, const std::string& name) {
  std::vector<space::Value> values;
  for (const auto& each : trials) {
    const auto* value = each.last.trial.configuration.find(name);
    if (value != nullptr && std::ranges::find(values, *value) == values.end()) values.push_back(*value);
  }
  // std::variant orders by kind, then by value.
  std::ranges::sort(values);
  return values;
}

/// The stored list where it has all that occurs; else what occurs.
space::DomainSpec domain_of(const db::ParameterRecord& record, std::vector<space::Value> values) {
  const auto parameter = parameter_of(record);
  std::vector<space::Value> stored = parameter ? listed_values(parameter->domain) : std::vector<space::Value>();
  const auto is_stored = [&](const auto& each) { return std::ranges::find(stored, each) != stored.end(); };
  if (std::ranges::all_of(values, is_stored)) values = std::move(stored);
  const auto is_flag = [](const auto& each) { return std::holds_alternative<bool>(each); };
  if (std::ranges::all_of(values, is_flag)) return space::BooleanSpec{};
  const auto is_text = [](const auto& each) { return std::holds_alternative<std::string>(each); };
  const bool ordinal = parameter && std::holds_alternative<space::OrdinalSpec>(parameter->domain);
  if (!ordinal && std::ranges::any_of(values, is_text)) return space::CategoricalSpec{std::move(values)};
  return space::OrdinalSpec{std::move(values)};
}

replay::Rows rows_of(const std::vector<MeasuredConfiguration>& trials,
                     const std::vector<space::ParameterSpec>& parameters) {
  const bool has_passes = std::ranges::any_of(trials, [](const auto& each) { return each.values.size() > 1; });
  replay::Rows rows;
  rows.columns = parameters.size();
  std::vector<replay::CellReader> readers(parameters.begin(), parameters.end());
  for (const auto& [each, values] : trials) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto* value = each.trial.configuration.find(parameters[i].name);
      rows.cells.push_back(value == nullptr ? space::kNoValue : readers[i].find_value(*value).value());
    }
    const auto& estimate = each.trial.estimate;
    const double own_value = estimate ? estimate->value : kUnknown;  // also where it was taken over from elsewhere
    rows.objectives.push_back(estimate && !values.empty() ? measure::median(values) : own_value);
    if (has_passes) {
      rows.first_time.push_back(rows.times.size());
      for (const double value : values) rows.times.push_back(static_cast<float>(value));
    }
    rows.outcomes.push_back(each.trial.outcome);
    const bool own = each.finished_unix_ns && !each.reused_from;
    rows.cost_ms.push_back(own ? static_cast<double>(*each.finished_unix_ns - each.reserved_unix_ns) / 1e6 : kUnknown);
  }
  if (has_passes) rows.first_time.push_back(rows.times.size());
  return rows;
}

/// Whether a search chose these configurations: not where they are all there are.
bool chosen_by_search(const db::Store& store, const db::CampaignSummary& campaign, std::size_t measured) {
  if (campaign.strategy == "exhaustive" || campaign.strategy == "random") return false;
  const auto stored = stored_space(store, campaign);
  if (!stored) return true;
  const space::Size size = stored->space.count();
  return size.kind != space::Size::Kind::Exact || size.count != space::Count(measured);
}

std::filesystem::path real_path(const std::filesystem::path& path) {
  std::error_code error;
  auto result = std::filesystem::canonical(path, error);
  return error ? path : result;
}

}  // namespace

std::expected<FileCampaign, std::string> find_file_campaign(const std::filesystem::path& path,
                                                            const std::string& name) {
  auto store = db::Store::open(path, db::Mode::ReadOnly);
  auto all = store.list_campaigns();
  const auto found = std::ranges::find_if(all, [&](const auto& each) { return name.empty() || each.name == name; });
  if (found == all.end()) {
    return std::unexpected(name.empty() ? fmt::format("{}: there is no campaign in it", path.string())
                                        : fmt::format("{}: there is no campaign '{}' in it", path.string(), name));
  }
  return FileCampaign{.store = std::move(store), .campaign = std::move(*found)};
}

std::expected<replay::RecordedSpace, std::string> recorded_campaign(const db::Store& store,
                                                                    const db::CampaignSummary& campaign) {
  const auto records = store.parameters(campaign.id);
  const auto trials = distinct(trials_of_all_passes(store, campaign));
  replay::SpaceDescription description;
  description.facts = stored_facts(campaign.spec);
  for (const auto& record : records) {
    auto values = occurring(trials, record.name);
    if (values.empty()) continue;  // never active in what was measured
    space::ParameterSpec spec;
    spec.name = record.name;
    spec.stage = record.stage;
    spec.domain = domain_of(record, std::move(values));
    spec.unit = record.unit;
    spec.description = record.description;
    spec.active_if = record.active_if;
    description.parameters.push_back(std::move(spec));
  }
  auto rows = rows_of(trials, description.parameters);
  description.rows = replay::table_of(description, rows);
  const bool chosen = chosen_by_search(store, campaign, trials.size());
  auto recorded =
      replay::RecordedSpace::create(campaign.name, std::string(chosen ? replay::RecordedSpace::kSearched : "campaign"),
                                    std::move(description), std::move(rows));
  if (!recorded)
    return std::unexpected(
        fmt::format("campaign '{}', generation {}: {}", campaign.name, campaign.generation, recorded.error()));
  return recorded;
}

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
  for (const auto& recorded : spaces_)
    if (recorded.name() == space.name())
      same.push_back(search::replay::earlier_campaign(space, trials_, seed));
    else
      ranks.push_back(search::replay::sampled_campaign(recorded, trials_, seed));
  std::ranges::move(ranks, std::back_inserter(same));
  return same;
}

}  // namespace nocturne::tuner
