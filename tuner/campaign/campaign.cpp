#include "tuner/campaign/campaign.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "search/registry.hpp"
#include "tuner/campaign/finals.hpp"
#include "tuner/campaign/history.hpp"
#include "tuner/campaign/pacing.hpp"
#include "tuner/campaign/preparation.hpp"
#include "tuner/campaign/search_options.hpp"
#include "tuner/campaign/stored_space.hpp"
#include "tuner/campaign/trial_runner.hpp"

namespace nocturne::tuner {
namespace {

/// Asks that are the campaign's own, not the strategy's.
constexpr const char* kDefaultAsk = "default";
constexpr const char* kWishAsk = "person";

/// What may change without the work being incomplete again: nothing that is measured or compared depends on it.
nlohmann::json what_completeness_depends_on(const nlohmann::json& document) {
  nlohmann::json parts = nlohmann::json::object();
  for (const char* key : {"budget", "strategy", "run", "verify"}) parts[key] = document.value(key, nlohmann::json());
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
  if (!fingerprint || fingerprint->key() != sitting_.fingerprint.key()) return std::nullopt;
  return known->id;
}

db::Expected<std::string> Campaign::machine_changed_since_last_sitting() const {
  const auto known = sitting_.store.find_campaign(sitting_.spec.name);
  if (!known) {
    if (known.error().code == db::ErrorCode::NotFound) return std::string();
    return std::unexpected(known.error());
  }
  const auto stored = sitting_.store.load_fingerprint(known->fingerprint);
  if (!stored) return std::unexpected(stored.error());
  const auto before = space::Fingerprint::from_json(stored->fields);
  if (!before || before->key() == sitting_.fingerprint.key()) return std::string();
  std::string fields;
  for (const space::FingerprintDifference& difference : before->differences(sitting_.fingerprint)) {
    if (difference.match != space::Match::Must) continue;
    fields += fmt::format("{}{} was '{}' and is '{}'", fields.empty() ? "" : ", ", difference.name, difference.before,
                          difference.now);
  }
  return fields;
}

db::Expected<void> Campaign::make_strategy(db::CampaignId campaign) {
  const CampaignSpec& spec = sitting_.spec;
  search::Options options{.seed = spec.strategy.seed, .objective = spec.objective};
  options.roles = roles_of(spec.space);
  options.memory_limit_bytes = sitting_.executor.memory_limit_bytes();
  auto history = history_of(sitting_.store, campaign, spec.strategy.name, spec.objective);
  if (!history) return std::unexpected(history.error());
  options.history = std::move(*history);
  options.note = [this](const std::string& sentence) { say(db::Level::Warning, sentence); };
  if (auto sentence = to_text(options.history, spec.space); !sentence.empty()) say(db::Level::Info, sentence);
  // Where trials are counted, time is no matter: only a budget of time is spent on preparation.
  std::shared_ptr<PreparationCosts> costs;
  if (spec.budget.wall || spec.budget.until) {
    const auto builds = sitting_.store.list_builds();
    if (!builds) return std::unexpected(builds.error());
    const auto known = sitting_.store.find_campaign(spec.name);
    if (!known) return std::unexpected(known.error());
    const auto began = known->id == campaign ? known->created_unix_ns : 0;
    costs = std::make_shared<PreparationCosts>(spec.space, *builds, began);
    if (costs->matter()) {
      options.preparation_seconds = [costs](const space::Configuration& each) { return costs->seconds(each); };
    }
  }
  auto strategy = search::make_strategy(spec.strategy.name, spec.space, options);
  if (!strategy) return std::unexpected(db::Error{db::ErrorCode::Inconsistent, strategy.error()});
  strategy_ = std::move(*strategy);
  if (costs && costs->matter()) strategy_ = std::make_unique<CostAware>(std::move(strategy_), costs);
  return {};
}

db::Expected<std::optional<std::vector<db::HistorySource>>> Campaign::history_to_begin_with() const {
  if (fresh_ || !sitting_.spec.strategy.history) return std::nullopt;
  return choose_history(sitting_.store,
                        {.document = sitting_.spec.document, .fingerprint_key = sitting_.fingerprint.key()},
                        sitting_.spec.space);
}

const space::Configuration* Campaign::wanted() const {
  for (const space::Configuration& each : sitting_.wanted) {
    if (!known_.contains(each.identity())) return &each;
  }
  return nullptr;
}

db::Expected<void> Campaign::open(std::size_t processes_swept) {
  const CampaignSpec& spec = sitting_.spec;
  db::CampaignRecord record{
      .name = spec.name,
      .identity = spec.identity(),
      .spec = spec.document,
      .strategy = spec.strategy.name,
      .seed = static_cast<std::int64_t>(spec.strategy.seed),
      .fingerprint = {.hash = sitting_.fingerprint.identity(), .fields = sitting_.fingerprint.to_json()},
      .parameters = parameter_records(spec.space),
      .fresh = fresh_};
  if (auto saved = sitting_.store.save_fingerprint(record.fingerprint); !saved) return saved;
  const auto changed = machine_changed_since_last_sitting();
  if (!changed) return std::unexpected(changed.error());
  if (!changed->empty()) {
    record.fresh = true;
    sitting_.observer.note(fmt::format("{}: results from before do not hold, a new generation begins", *changed));
  }
  auto history = history_to_begin_with();
  if (!history) return std::unexpected(history.error());
  record.history = std::move(*history);
  const auto handle = sitting_.store.begin_or_resume_campaign(record);
  if (!handle) return std::unexpected(handle.error());
  sitting_.campaign = handle->id;

  const auto interrupted = sitting_.store.recover_interrupted(handle->id);
  if (!interrupted) return std::unexpected(interrupted.error());
  Opening opening{.campaign = spec.name,
                  .generation = handle->generation,
                  .resumed = handle->resumed,
                  .trials_known = handle->finished,
                  .processes_swept = processes_swept,
                  .strategy = spec.strategy.name,
                  .seed = spec.strategy.seed};
  for (const db::StoredTrial& trial : *interrupted) opening.recovered.push_back(trial.trial.number);

  if (auto made = make_strategy(handle->id); !made) return made;
  const auto exchanges = sitting_.store.exchanges(handle->id);
  if (!exchanges) return std::unexpected(exchanges.error());
  Replayed replayed = replay(*exchanges, *strategy_, record.strategy, record.seed);
  pending_ = std::move(replayed.pending);
  next_number_ = replayed.next_number;
  for (const space::Trial& trial : replayed.told) learn(trial);
  sitting_.observer.opened(opening);
  log(db::Level::Info, fmt::format("{}: {} trials known, {} interrupted ones to run again; strategy {}, seed {}",
                                   handle->resumed ? "resumed" : "opened", handle->finished, opening.recovered.size(),
                                   record.strategy, record.seed));
  open_ = true;
  for (auto& [level, sentence] : std::exchange(unsaid_, {})) say(level, std::move(sentence));
  if (processes_swept > 0) {
    log(db::Level::Warning, fmt::format("{} processes of a killed sitting were still there", processes_swept));
  }
  if (replayed.deviations > 0) {
    say(db::Level::Warning,
        fmt::format("the strategy '{}' proposes otherwise than when this campaign began ({} times): it goes on from "
                    "what was measured",
                    record.strategy, replayed.deviations));
  }

  const auto trials = sitting_.store.list_trials({.campaign = handle->id, .state = db::TrialState::Finished});
  if (!trials) return std::unexpected(trials.error());
  for (const db::StoredTrial& trial : *trials) {
    const std::chrono::nanoseconds duration(trial.finished_unix_ns.value_or(trial.claimed_unix_ns) -
                                            trial.claimed_unix_ns);
    if (trial.reused_from || duration.count() < 0) continue;  // cost nothing, or the clock was set back
    durations_.push_back(duration);
    spent_before_ += duration;
  }
  return {};
}

void Campaign::log(db::Level level, const std::string& what) {
  static_cast<void>(
      sitting_.store.append_event({.campaign = sitting_.campaign, .time_unix_ns = 0, .level = level, .what = what}));
}

void Campaign::say(db::Level level, std::string sentence) {
  if (!open_) {
    unsaid_.emplace_back(level, std::move(sentence));
    return;
  }
  sitting_.observer.note(sentence);
  log(level, sentence);
}

void Campaign::learn(const space::Trial& trial) {
  ++finished_;
  if (trial.outcome != space::Outcome::Ok) ++failed_;
  known_.insert(trial.configuration.identity());
  if (trial.number == 0) baseline_ = trial;
  if (trial.estimate && (!best_ || trial.estimate->value < best_->estimate->value)) best_ = trial;
}

std::chrono::nanoseconds Campaign::spent() const {
  return spent_before_ + (sitting_.clock.steady() - began_);
}

PaceState Campaign::pace() const {
  PaceState state{.finished_trials = finished_,
                  .spent = spent(),
                  .sitting = sitting_.clock.steady() - began_,
                  .next_trial = expected_trial(durations_)};
  if (until_) state.until_left = *until_ - sitting_.clock.wall();
  if (baseline_ && baseline_->parts && best_ && best_->parts) {
    state.finals = forecast_finals(sitting_.spec.verify, *baseline_->parts, *best_->parts);
  }
  return state;
}

std::optional<std::string> Campaign::budget_ends() const {
  return search_ends(sitting_.spec.budget, pace());
}

Standing Campaign::standing() const {
  const PaceState state = pace();
  Standing standing{.finished = finished_,
                    .failed = failed_,
                    .wanted = sitting_.spec.budget.trials,
                    .baseline = baseline_,
                    .best = best_,
                    .elapsed = state.spent,
                    .left = time_left(sitting_.spec.budget, state)};
  if (standing.wanted) {
    const auto by_trials = state.next_trial * std::max<std::int64_t>(0, *standing.wanted - finished_) + state.finals;
    standing.left = standing.left ? std::min(*standing.left, by_trials) : by_trials;
  }
  return standing;
}

db::Expected<bool> Campaign::run_trial(const db::Asked& asked) {
  const auto began = sitting_.clock.steady();
  const std::optional<space::Estimate> incumbent = best_ ? best_->estimate : std::nullopt;
  auto finished = TrialRunner(sitting_).run(asked.number, asked.configuration, incumbent, asked.purpose);
  if (!finished) return std::unexpected(finished.error());
  if (!*finished) return false;
  const FinishedTrial& result = **finished;
  if (!result.reused) durations_.push_back(sitting_.clock.steady() - began);
  strategy_->tell({&result.trial, 1});
  learn(result.trial);
  sitting_.observer.finished(result.trial, result.reused, standing());
  return true;
}

db::Expected<SittingResult> Campaign::search() {
  SittingResult result{.ending = Ending::Interrupted, .because = "interrupted", .campaign = sitting_.campaign};
  for (;;) {
    if (sitting_.interruption.requested()) return result;
    if (sitting_.fingerprint_now && sitting_.fingerprint_now().key() != sitting_.fingerprint.key()) {
      result.ending = Ending::MachineChanged;
      result.because = "the machine or its software changed";
      return result;
    }
    if (pending_.empty()) {
      // The default comes first, whatever the budget: everything is compared with it. Then what a person wants.
      const space::Configuration* wish = next_number_ > 0 ? wanted() : nullptr;
      if (const auto why = next_number_ > 0 && wish == nullptr ? budget_ends() : std::nullopt) {
        result.ending = Ending::Complete;
        result.because = *why;
        return result;
      }
      db::Ask ask{.strategy = kDefaultAsk, .seed = 0, .count = 1, .answer = {}};
      std::vector<search::Proposal> proposed;
      if (next_number_ == 0) {
        proposed.push_back({.configuration = sitting_.spec.space.default_configuration()});
      } else if (wish != nullptr) {
        ask.strategy = kWishAsk;
        proposed.push_back({.configuration = *wish, .reason = "a person wanted it measured"});
      } else {
        ask.strategy = sitting_.spec.strategy.name;
        ask.seed = static_cast<std::int64_t>(sitting_.spec.strategy.seed);
        proposed = strategy_->ask(1);
      }
      if (proposed.empty()) {
        result.ending = Ending::Complete;
        result.because = "nothing is left to try";
        return result;
      }
      for (search::Proposal& proposal : proposed) {
        ask.answer.push_back({.number = next_number_++,
                              .configuration = std::move(proposal.configuration),
                              .purpose = proposal.purpose,
                              .reason = std::move(proposal.reason)});
      }
      if (auto recorded = sitting_.store.record_ask(sitting_.campaign, ask); !recorded) {
        return std::unexpected(recorded.error());
      }
      pending_ = std::move(ask.answer);
    }
    const auto done = run_trial(pending_.front());
    if (!done) return std::unexpected(done.error());
    if (!*done) return result;
    pending_.erase(pending_.begin());
  }
}

db::Expected<SittingResult> Campaign::run(std::size_t processes_swept) {
  const auto before = completed_before();
  if (!before) return std::unexpected(before.error());
  if (*before) {
    sitting_.campaign = **before;
    return SittingResult{
        .ending = Ending::AlreadyDone, .because = "this campaign was completed before", .campaign = **before};
  }
  began_ = sitting_.clock.steady();
  if (const auto& until = sitting_.spec.budget.until) until_ = next_occurrence(*until, sitting_.clock.wall());
  if (auto opened = open(processes_swept); !opened) return std::unexpected(opened.error());
  auto result = search();
  if (!result) return result;
  log(result->ending == Ending::Complete ? db::Level::Info : db::Level::Warning,
      fmt::format("the search ended after {} trials, {} of them failed: {}", finished_, failed_, result->because));
  if (result->ending == Ending::Complete) {
    const auto complete = Finals(sitting_).run();
    if (!complete) return std::unexpected(complete.error());
    if (!*complete && sitting_.interruption.requested()) {
      result->ending = Ending::Interrupted;
      result->because = "interrupted while the best was measured again";
      log(db::Level::Warning, result->because);
    } else if (auto done = sitting_.store.finish_campaign(sitting_.campaign); !done) {
      return std::unexpected(done.error());
    }
  }
  if (auto released = sitting_.store.release_campaign(sitting_.campaign); !released) {
    return std::unexpected(released.error());
  }
  return result;
}

}  // namespace nocturne::tuner
