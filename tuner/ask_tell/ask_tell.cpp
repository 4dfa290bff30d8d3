#include "tuner/ask_tell/ask_tell.hpp"

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "search/registry.hpp"
#include "space/digest.hpp"
#include "space/moments.hpp"
#include "tuner/campaign/history.hpp"
#include "tuner/campaign/replayed_exchanges.hpp"
#include "tuner/campaign/search_options.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::tuner {
namespace {

namespace fs = std::filesystem;

/// Who asked for what nobody asked for.
constexpr const char* kUserAsk = "user";
constexpr const char* kDefaultAsk = "default";
// How soon a folder that another process has open is looked at again.
constexpr std::chrono::milliseconds kAgain{20};

/// The search among the campaigns of a folder; others were imported, and are its history.
std::optional<db::CampaignSummary> search_in(const db::Store& store) {
  auto all = store.list_campaigns();
  const auto found =
      std::ranges::find_if(all, [](const auto& each) { return stored_value_rule(each.spec).has_value(); });
  return found == all.end() ? std::nullopt : std::optional(std::move(*found));
}

db::CampaignRecord record_of(const SpaceFile& file, const db::Store& store) {
  db::CampaignRecord record{.name = file.name,
                            .identity = space::short_digest(file.identity_json),
                            .spec = file.document,
                            .strategy = file.strategy.name,
                            .seed = static_cast<std::int64_t>(file.strategy.seed),
                            .parameters = parameter_records(file.space)};
  // History has times: values whose smaller ones are better, judged by their ratios.
  if (file.strategy.history && file.values == search::ValueRule{})
    record.history = choose_history(store, {.document = file.document, .fingerprint_key = {}}, file.space);
  return record;
}

db::CampaignRecord record_of(const db::CampaignSummary& stored, const db::Store& store) {
  return {.name = stored.name,
          .identity = stored.identity,
          .spec = stored.spec,
          .strategy = stored.strategy,
          .seed = stored.seed,
          .parameters = store.parameters(stored.id),
          .history = std::vector<db::HistorySource>()};  // it keeps what it knew
}

/// Whether a parameter says where to begin.
bool names_default(const nlohmann::json& document) {
  const auto parameters = document.value("/space/parameters"_json_pointer, nlohmann::json::array());
  return std::ranges::any_of(parameters, [](const auto& each) { return each.contains("default"); });
}

db::TrialResult result_of(const AnswerLine& answer) {
  db::TrialResult result{.outcome = answer.outcome, .reason = answer.reason};
  if (answer.outcome != space::Outcome::Ok) return result;
  const space::Moments moments = space::moments_of(answer.values);
  result.estimate = {
      .value = moments.mean, .standard_error = moments.standard_error(), .runs = static_cast<int>(moments.count)};
  // One evaluation is one step of the one epoch there is, so that pages compose the same value again.
  result.parts = space::Parts{.steps_per_epoch = 1, .steady_step = moments.mean};
  return result;
}

}  // namespace

fs::path search_database(const fs::path& folder) {
  return folder / "search.db";
}

std::expected<std::unique_ptr<AskTell>, AskTell::Error> AskTell::open(const fs::path& folder, const SpaceFile* file,
                                                                      std::chrono::milliseconds patience) {
  std::error_code ignored;
  const bool exists = fs::exists(search_database(folder), ignored);
  const auto no_search = [&] {
    return std::unexpected(
        Error{Refused::NoSearch, fmt::format("{} holds no search; '{}' begins one", folder.string(),
                                             command_text("ask", folder.string() + " --space FILE"))});
  };
  if (!exists && file == nullptr) return no_search();
  auto store = db::Store::open(search_database(folder), db::Mode::ReadWrite);
  const auto known = search_in(store);
  if (!known && file == nullptr) return no_search();
  auto record = file != nullptr ? record_of(*file, store) : record_of(*known, store);
  if (known && known->identity != record.identity) {
    return std::unexpected(Error{Refused::OtherSpace,
                                 fmt::format("{} holds a search of another space or objective; give this one a folder "
                                             "of its own, or leave --space out to go on with that one",
                                             folder.string())});
  }
  if (known) record.name = known->name;
  for (const auto end = std::chrono::steady_clock::now() + patience;;) {
    try {
      const auto handle = store.begin_or_resume_campaign(record);
      auto stored = stored_space(store, store.load_campaign(record.name));
      if (!stored) throw db::Error(db::ErrorCode::Inconsistent, stored.error());
      return std::unique_ptr<AskTell>(new AskTell(std::move(store), record, handle, std::move(stored->space)));
    } catch (const db::Error& error) {
      if (error.code != db::ErrorCode::Owned) throw;
      if (std::chrono::steady_clock::now() >= end) return std::unexpected(Error{Refused::Busy, error.what()});
      std::this_thread::sleep_for(kAgain);
    }
  }
}

AskTell::AskTell(db::Store store, const db::CampaignRecord& record, db::CampaignHandle handle, space::Space space)
    : store_(std::move(store)),
      campaign_(handle.id),
      strategy_name_(record.strategy),
      seed_(record.seed),
      values_(stored_value_rule(record.spec).value_or(search::ValueRule{})),
      names_default_(names_default(record.spec)),
      space_(std::move(space)),
      next_number_(handle.trials) {
  for (const db::Exchange& exchange : store_.exchanges(campaign_)) {
    if (const auto* ask = std::get_if<db::Ask>(&exchange)) {
      for (const db::AskAnswer& asked : ask->answer) pending_.insert_or_assign(asked.number, asked.configuration);
    } else {
      const space::Trial& trial = std::get<db::Tell>(exchange).trial;
      pending_.erase(trial.number);
      told_.insert_or_assign(trial.number, trial);
    }
  }
}

AskTell::~AskTell() = default;

std::unique_ptr<search::Strategy> AskTell::make_strategy() const {
  search::Options options{.seed = static_cast<std::uint64_t>(seed_), .objective = {.epochs = {1}, .primary = 1}};
  options.roles = roles_of(space_);
  options.history = history_of(store_, campaign_, strategy_name_, options.objective);
  return std::make_unique<search::RescaledSearch>(values_, [this, options] {
    auto made = search::make_strategy(strategy_name_, space_, options);
    if (!made) throw db::Error(db::ErrorCode::Inconsistent, made.error());
    return *std::move(made);
  });
}

search::Strategy& AskTell::strategy() {
  if (strategy_) return *strategy_;
  strategy_ = make_strategy();
  const auto replayed = replay_exchanges(store_.exchanges(campaign_), *strategy_, strategy_name_, seed_);
  if (replayed.deviations > 0) {
    notes_.push_back(fmt::format(
        "the strategy '{}' proposes otherwise than when this search began ({} times): it goes on from what was told",
        strategy_name_, replayed.deviations));
  }
  return *strategy_;
}

std::vector<space::Configuration> AskTell::in_flight() const {
  std::vector<space::Configuration> configurations;
  for (const auto& [number, configuration] : pending_) configurations.push_back(configuration);
  return configurations;
}

void AskTell::record_ask(const db::AskAnswer& asked, const std::string& strategy) {
  store_.record_ask(campaign_, {.strategy = strategy, .seed = seed_, .count = 1, .answer = {asked}});
  pending_.insert_or_assign(asked.number, asked.configuration);
  next_number_ = asked.number + 1;
}

std::vector<db::AskAnswer> AskTell::ask(std::size_t count) {
  std::vector<db::AskAnswer> all;
  while (all.size() < count) {
    if (next_number_ == 0 && names_default_) {
      all.push_back({.number = 0, .configuration = space_.default_configuration(), .reason = "the default"});
      record_ask(all.back(), kDefaultAsk);
      continue;
    }
    // One by one, as a campaign with several slots asks: each is pending when the next is proposed.
    search::Strategy& proposer = strategy();
    proposer.mark_pending(in_flight());
    auto proposals = proposer.ask(1);
    if (proposals.empty()) break;
    all.push_back(numbered(std::move(proposals.front()), next_number_));
    record_ask(all.back(), strategy_name_);
  }
  return all;
}

std::expected<std::int64_t, std::string> AskTell::number_of(const AnswerLine& answer) {
  if (answer.number) {
    if (pending_.contains(*answer.number) || told_.contains(*answer.number)) return *answer.number;
    return std::unexpected(fmt::format("number {} was never asked", *answer.number));
  }
  const auto configuration = in_space(space_, *answer.configuration);
  if (!configuration) return std::unexpected(configuration.error());
  const auto asked =
      std::ranges::find(pending_, *configuration, [](const auto& each) -> const auto& { return each.second; });
  if (asked != pending_.end()) return asked->first;
  const auto told = std::ranges::find(told_, *configuration,
                                      [](const auto& each) -> const auto& { return each.second.configuration; });
  if (told != told_.end()) return told->first;
  record_ask({.number = next_number_, .configuration = *configuration}, kUserAsk);
  return next_number_ - 1;
}

std::expected<std::int64_t, std::string> AskTell::tell(const AnswerLine& answer) {
  const auto result = result_of(answer);
  if (result.estimate && !values_.admits(result.estimate->value)) {
    return std::unexpected(fmt::format("the value {} is not {}", result.estimate->value,
                                       values_.scale == search::ValueScale::Linear
                                           ? "a finite number"
                                           : "above 0, and ratios of values count here: a space file with "
                                             "\"objective\": {\"scale\": \"linear\"} takes any number"));
  }
  const auto number = number_of(answer);
  if (!number) return number;
  space::Trial trial{.number = *number, .fidelity = {.steps = 1}};
  if (const auto known = told_.find(*number); known != told_.end()) {
    trial.configuration = known->second.configuration;
    store_.update_trial(store_.load_numbered_trial(campaign_, *number).id, result);
  } else {
    trial.configuration = pending_.at(*number);
    const auto reserved = store_.reserve_trial(campaign_, {.number = *number,
                                                           .configuration = trial.configuration,
                                                           .fidelity = trial.fidelity,
                                                           .key = trial.configuration.identity()});
    store_.finish_trial(reserved, result);
  }
  trial.outcome = result.outcome;
  trial.reason = result.reason;
  trial.estimate = result.estimate;
  trial.parts = result.parts;
  if (strategy_) strategy_->tell({&trial, 1});
  pending_.erase(*number);
  told_.insert_or_assign(*number, std::move(trial));
  return *number;
}

SearchStanding AskTell::standing() const {
  SearchStanding standing{.finished = std::ssize(told_), .pending = std::ssize(pending_)};
  for (const auto& [number, trial] : told_) {
    if (!trial.estimate) {
      ++standing.failed;
      continue;
    }
    if (!standing.best || values_.is_better(trial.estimate->value, standing.best->estimate->value))
      standing.best = trial;
  }
  return standing;
}

}  // namespace nocturne::tuner
