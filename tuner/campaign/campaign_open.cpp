// How a sitting begins: is there anything to do, is it the machine of before, what is known already.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "search/registry.hpp"
#include "tuner/campaign/campaign.hpp"
#include "tuner/campaign/campaign_record.hpp"
#include "tuner/campaign/finals/measured_pair.hpp"
#include "tuner/campaign/heartbeat/heartbeat.hpp"
#include "tuner/campaign/history.hpp"
#include "tuner/campaign/machine_changes.hpp"
#include "tuner/campaign/pacing.hpp"
#include "tuner/campaign/preparation.hpp"
#include "tuner/campaign/search_options.hpp"
#include "tuner/roofline/roof.hpp"

namespace nocturne::tuner {
namespace {

/// What may change without the work being incomplete again: nothing that is measured or compared depends on it.
nlohmann::json what_completeness_depends_on(const nlohmann::json& document) {
  nlohmann::json parts = nlohmann::json::object();
  for (const char* key : {"budget", "strategy", "run", "verify", "environments"})
    parts[key] = document.value(key, nlohmann::json());
  return parts;
}

}  // namespace

db::Expected<std::optional<db::CampaignId>> Campaign::completed_before() const {
  if (fresh_ || sitting_.spec.budget.until || !sitting_.wanted.empty()) return std::nullopt;
  const auto known = sitting_.store.find_campaign(sitting_.spec.name);
  if (!known) {
    if (known.error().code == db::ErrorCode::NotFound) return std::nullopt;
    return std::unexpected(known.error());
  }
  if (!known->finished_unix_ns || known->identity != sitting_.spec.identity()) return std::nullopt;
  if (what_completeness_depends_on(known->spec) != what_completeness_depends_on(sitting_.spec.document)) {
    return std::nullopt;
  }
  const auto stored = sitting_.store.load_fingerprint(known->fingerprint);
  if (!stored) return std::unexpected(stored.error());
  const auto fingerprint = space::Fingerprint::from_json(stored->fields);
  if (!fingerprint || !fingerprint->differences(sitting_.fingerprint).empty()) return std::nullopt;
  return known->id;
}

db::Expected<std::optional<SittingResult>> Campaign::verify_changes() {
  if (fresh_) return std::nullopt;
  const auto recheck = recheck_after_changes(sitting_);
  if (!recheck) return std::unexpected(recheck.error());
  set_aside_ = recheck->end == Recheck::End::SetAside;
  if (recheck->end == Recheck::End::Nothing) return std::nullopt;
  if (recheck->end != Recheck::End::Interrupted) {
    say(set_aside_ ? db::Level::Warning : db::Level::Info, recheck->sentence);
    return std::nullopt;
  }
  const auto known = sitting_.store.find_campaign(sitting_.spec.name);
  if (!known) return std::unexpected(known.error());
  return SittingResult{.ending = Ending::Interrupted, .because = recheck->sentence, .campaign = known->id};
}

db::Expected<void> Campaign::make_strategy(db::CampaignId campaign) {
  const CampaignSpec& spec = sitting_.spec;
  search::Options options{.seed = spec.strategy.seed, .objective = spec.objective};
  options.roles = roles_of(spec.space);
  options.memory_limit_bytes = sitting_.executor.memory_limit_bytes();
  auto history = history_of(sitting_.store, campaign, spec.strategy.name, spec.objective);
  if (!history) return std::unexpected(history.error());
  options.history = std::move(*history);
  auto roof = roof_of_campaign(sitting_.store, campaign);
  if (!roof) return std::unexpected(roof.error());
  options.bound = work_bound(*std::move(roof));
  options.note = [this](const std::string& sentence) { say(db::Level::Warning, sentence); };
  if (auto sentence = to_text(options.history, spec.space); !sentence.empty()) say(db::Level::Info, sentence);
  // Where trials are counted, time is no matter: only a budget of time is spent on preparation.
  if (spec.budget.wall || spec.budget.until) {
    const auto builds = sitting_.store.list_builds();
    if (!builds) return std::unexpected(builds.error());
    const auto known = sitting_.store.find_campaign(spec.name);
    if (!known) return std::unexpected(known.error());
    const auto began = known->id == campaign ? known->created_unix_ns : 0;
    auto costs =
        std::make_shared<PreparationCosts>(spec.space, *builds, began, sitting_.executor.install_seconds(began));
    if (costs->matter()) {
      options.preparation_seconds = [costs](const space::Configuration& each) { return costs->seconds(each); };
      costs_ = std::move(costs);
    }
  }
  auto strategy = search::make_strategy(spec.strategy.name, spec.space, options);
  if (!strategy) return std::unexpected(db::Error{db::ErrorCode::Inconsistent, strategy.error()});
  strategy_ = std::move(*strategy);
  if (costs_) strategy_ = std::make_unique<CostAware>(std::move(strategy_), costs_);
  plan_first_looks(options.history);
  return know_rehearsals(campaign);
}

void Campaign::plan_first_looks(const std::vector<search::History>& history) {
  if (!search::uses_history(sitting_.spec.strategy.name)) return;
  first_looks_ = first_looks(sitting_.spec.space);
  std::erase_if(first_looks_, [&history](const FirstLook& look) {
    return std::ranges::any_of(history, [&look](const search::History& each) {
      return each.same_machine_and_workload && std::ranges::any_of(each.trials, [&look](const space::Trial& trial) {
               return is_part_of(look, trial.configuration);
             });
    });
  });
}

std::chrono::nanoseconds Campaign::preparation_time(const space::Configuration& configuration) const {
  return forecast_of(costs_ ? costs_->seconds(configuration) : 0);
}

std::chrono::nanoseconds Campaign::default_time() const {
  if (!baseline_ || !baseline_->parts) return {};
  // By its parts: its trial may have waited for a build.
  const space::Parts& parts = *baseline_->parts;
  const RunSettings& run = sitting_.spec.run;
  return forecast_of(static_cast<double>(run.repeats) *
                     (space::startup_time(parts) + static_cast<double>(run.steps) * parts.steady_step));
}

db::Expected<void> Campaign::know_rehearsals(db::CampaignId campaign) {
  const auto rehearsals = sitting_.store.rehearsals(campaign);
  if (!rehearsals) return std::unexpected(rehearsals.error());
  const auto first = sitting_.store.find_trial(campaign, 0);
  if (!first && first.error().code != db::ErrorCode::NotFound) return std::unexpected(first.error());
  no_go_.clear();
  for (const db::RehearsalRecord& record : *rehearsals) {
    if (record.outcome != space::Outcome::Ok) {
      no_go_.push_back(record);
      std::erase_if(first_looks_, [&record](const FirstLook& look) { return is_part_of(look, record.configuration); });
    } else if (costs_ && (!first || record.rehearsed_unix_ns < first->claimed_unix_ns)) {
      // Of one made later the strategy knew nothing when it answered, and it is to answer the same again.
      costs_->prepared(record.configuration);
    }
  }
  return {};
}

db::Expected<std::optional<std::vector<db::HistorySource>>> Campaign::history_to_begin_with() const {
  if (fresh_ || !sitting_.spec.strategy.history) return std::nullopt;
  return choose_history(sitting_.store,
                        {.document = sitting_.spec.document, .fingerprint_key = sitting_.fingerprint.key()},
                        sitting_.spec.space);
}

db::Expected<void> Campaign::keep_roof(db::CampaignId campaign) {
  const CampaignSpec& spec = sitting_.spec;
  if (trains_own_command(spec.document)) return {};
  const auto roof = stored_roof(sitting_.store, sitting_.fingerprint, spec.workload);
  if (!roof) return std::unexpected(roof.error());
  if (!*roof) return {};
  return sitting_.store.save_roof(campaign, (*roof)->document);
}

db::Expected<void> Campaign::open(const measure::SweepReport& swept) {
  const CampaignSpec& spec = sitting_.spec;
  auto begun = present_record(sitting_, fresh_ || set_aside_);
  if (!begun) return std::unexpected(begun.error());
  db::CampaignRecord& record = *begun;
  if (auto saved = sitting_.store.save_fingerprint(record.fingerprint); !saved) return saved;
  auto history = history_to_begin_with();
  if (!history) return std::unexpected(history.error());
  record.history = std::move(*history);
  const auto handle = sitting_.store.begin_or_resume_campaign(record);
  if (!handle) return std::unexpected(handle.error());
  sitting_.campaign = handle->id;

  const auto interrupted = sitting_.store.recover_interrupted(handle->id);
  if (!interrupted) return std::unexpected(interrupted.error());
  const auto deadline = std::chrono::ceil<std::chrono::milliseconds>(spec.run.deadline);
  Opening opening{.id = handle->id,
                  .campaign = spec.name,
                  .generation = handle->generation,
                  .resumed = handle->resumed,
                  .trials_known = handle->finished,
                  .recovery = {.runs = interrupted->runs,
                               .processes = swept.processes,
                               .control_groups = swept.cgroups,
                               .killed_about_unix_ns = last_word_before_kill(sitting_.store.path(), handle->id)},
                  .strategy = spec.strategy.name,
                  .seed = spec.strategy.seed,
                  .epochs = spec.objective.primary,
                  .times_processes = !spec.worker.own.empty() && spec.worker.own.whole(),
                  .longest_pair = longest_pair(deadline, deadline)};
  for (const db::StoredTrial& trial : interrupted->trials) opening.recovery.trials.push_back(trial.trial.number);

  if (!handle->resumed) {
    if (auto kept = keep_roof(handle->id); !kept) return kept;
  }
  if (auto made = make_strategy(handle->id); !made) return made;
  const auto exchanges = sitting_.store.exchanges(handle->id);
  if (!exchanges) return std::unexpected(exchanges.error());
  for (const db::Exchange& exchange : *exchanges) {
    const auto* const ask = std::get_if<db::Ask>(&exchange);
    if (ask == nullptr) continue;
    if (ask->strategy == record.strategy) first_looks_.clear();  // their time is over
    if (ask->strategy != kFirstLookAsk) continue;
    ++first_looks_pace_.taken;
    // Before the replay, which tells what is prepared by now.
    for (const db::Asked& look : ask->answer) first_looks_pace_.spent += preparation_time(look.configuration);
  }
  Replayed replayed = replay(*exchanges, *strategy_, record.strategy, record.seed);
  pending_ = std::move(replayed.pending);
  next_number_ = replayed.next_number;
  for (const space::Trial& trial : replayed.told) learn(trial);
  first_looks_pace_.spent += first_looks_pace_.taken * default_time();
  sitting_.observer.opened(opening);
  log(db::Level::Info, fmt::format("{}: {} trials known, {} interrupted ones to run again; strategy {}, seed {}",
                                   handle->resumed ? "resumed" : "opened", handle->finished,
                                   opening.recovery.trials.size(), record.strategy, record.seed));
  open_ = true;
  for (auto& [level, sentence] : std::exchange(unsaid_, {})) say(level, std::move(sentence));
  for (const UnavailableFramework& framework : spec.unavailable) {
    say(db::Level::Info, fmt::format("unavailable here: {}: {}", framework.name, framework.reason));
  }
  if (opening.recovery.after_kill()) log(db::Level::Warning, to_text(opening.recovery));
  if (replayed.deviations > 0) {
    say(db::Level::Warning,
        fmt::format("the strategy '{}' proposes otherwise than when this campaign began ({} times): it goes on from "
                    "what was measured",
                    record.strategy, replayed.deviations));
  }

  const auto trials = sitting_.store.list_trials({.campaign = handle->id, .state = db::TrialState::Finished});
  if (!trials) return std::unexpected(trials.error());
  for (const db::StoredTrial& trial : *trials) {
    if (trial.reused_from || trial.runs == 0) continue;  // nothing was run for it
    const std::chrono::nanoseconds between(trial.finished_unix_ns.value_or(trial.claimed_unix_ns) -
                                           trial.claimed_unix_ns);
    // Two moments of the wall clock: it may have been set between them.
    const auto duration = plausible_duration(between, trial.runs, spec.run.deadline);
    durations_.push_back(duration);
    run_times_[trial.trial.number] = duration / trial.runs;
    spent_before_ += duration;
  }
  const auto beside = sitting_.store.time_beside_trials(handle->id);
  if (!beside) return std::unexpected(beside.error());
  spent_before_ += *beside;
  return {};
}

}  // namespace nocturne::tuner
