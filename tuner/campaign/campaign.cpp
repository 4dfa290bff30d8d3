#include "tuner/campaign/campaign.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tuner/campaign/finals/finalists.hpp"
#include "tuner/campaign/finals/finals.hpp"
#include "tuner/campaign/pacing.hpp"
#include "tuner/campaign/trial_runner.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::tuner {
namespace {

/// Asks that are the campaign's own, not the strategy's.
constexpr const char* kDefaultAsk = "default";
constexpr const char* kWishAsk = "person";
constexpr const char* kFinalsAsk = "finals";
constexpr const char* kRehearsalAsk = "rehearsal";

/// So many trials of which none trained are likelier to fail for what they share than for what they vary.
constexpr std::int64_t kNoneTrained = 10;

}  // namespace

const space::Configuration* Campaign::wanted() const {
  for (const space::Configuration& each : sitting_.wanted) {
    if (!known_.contains(each.identity())) return &each;
  }
  return nullptr;
}

std::optional<FirstLook> Campaign::first_look() {
  first_looks_pace_.trials = sitting_.spec.budget.trials;
  const PaceState state = pace();
  if (const auto left = time_left(sitting_.spec.budget, state)) first_looks_pace_.time = *left + state.spent;
  while (!first_looks_.empty()) {
    FirstLook look = std::move(first_looks_.front());
    first_looks_.erase(first_looks_.begin());
    if (known_.contains(look.configuration.identity())) continue;
    const auto next = preparation_time(look.configuration) + default_time();
    if (!fits(first_looks_pace_, next)) continue;
    ++first_looks_pace_.taken;
    first_looks_pace_.spent += next;
    return look;
  }
  return std::nullopt;
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
  dead_end_.learn(trial);
  known_.insert(trial.configuration.identity());
  if (trial.number == 0) baseline_ = trial;
  if (trial.estimate && (!best_ || trial.estimate->value < best_->estimate->value)) best_ = trial;
  const bool is_best = best_ && best_->number == trial.number;
  is_new_best_ =
      is_best && (!announced_best_ || !within_noise(*announced_best_, *trial.estimate, sitting_.spec.run.process_luck));
  if (is_new_best_) announced_best_ = trial.estimate;
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
    const auto of = [this](const space::Trial& trial) {
      const auto run = run_times_.find(trial.number);
      return paced(sitting_.spec, trial, run == run_times_.end() ? std::chrono::nanoseconds{0} : run->second);
    };
    state.finals =
        forecast_finals(sitting_.spec.verify, of(*baseline_), of(*best_), whole_time(sitting_.spec.budget, state));
    state.choice = forecast_choice(sitting_.spec.verify, of(*best_));
  }
  return state;
}

void Campaign::watch_clock() {
  const auto happened = watch_->look();
  if (!happened) return;
  say(db::Level::Warning, *happened);
  // Of a clock that was wrong at the beginning, the next 07:00 was another one than that of the person.
  if (const auto& until = sitting_.spec.budget.until) until_ = next_occurrence(*until, watch_->began());
}

std::optional<std::string> Campaign::search_is_over() const {
  if (auto hopeless = dead_end_.reached()) return hopeless;
  return search_ends(sitting_.spec.budget, pace());
}

Standing Campaign::standing() const {
  const PaceState state = pace();
  Standing standing{.finished = finished_,
                    .failed = failed_,
                    .wanted = sitting_.spec.budget.trials,
                    .baseline = baseline_,
                    .best = best_,
                    .is_new_best = is_new_best_,
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
  if (!result.reused) {
    durations_.push_back(sitting_.clock.steady() - began);
    const auto runs = result.trial.estimate ? std::max<std::int64_t>(result.trial.estimate->runs, 1) : 1;
    run_times_[result.trial.number] = durations_.back() / runs;
  }
  strategy_->tell({&result.trial, 1});
  learn(result.trial);
  sitting_.observer.finished(result.trial, result.reused, standing());
  warn_of_failures(result.trial);
  return true;
}

void Campaign::warn_of_failures(const space::Trial& trial) {
  if (trial.outcome == space::Outcome::Ok) return;
  if (trial.number == 0) {
    say(db::Level::Warning,
        "the default configuration did not train: the campaign goes on, but there will be no gain over it to report");
  }
  if (finished_ == kNoneTrained && failed_ == finished_) {
    say(db::Level::Warning, fmt::format("none of the first {} configurations has trained; look at what they share: "
                                        "'{}' has the last one's output",
                                        finished_, command_text({"show", fmt::format("{}", trial.number), "--log"})));
  }
}

db::Expected<std::optional<db::StoredTrial>> Campaign::run_extra_trial(const space::Configuration& configuration,
                                                                       const std::string& reason) {
  const auto find = [&]() -> db::Expected<std::optional<db::StoredTrial>> {
    auto trials = sitting_.store.list_trials(
        {.campaign = sitting_.campaign, .state = db::TrialState::Finished, .configuration = configuration.identity()});
    if (!trials) return std::unexpected(trials.error());
    return trials->empty() ? std::nullopt : std::optional(std::move(trials->front()));
  };
  if (known_.contains(configuration.identity())) return find();
  const db::Ask ask{.strategy = kFinalsAsk,
                    .seed = 0,
                    .count = 1,
                    .answer = {{.number = next_number_++, .configuration = configuration, .reason = reason}}};
  if (auto recorded = sitting_.store.record_ask(sitting_.campaign, ask); !recorded) {
    return std::unexpected(recorded.error());
  }
  for (;;) {
    const auto suspensions = sitting_.interruption.suspensions();
    const auto done = run_trial(ask.answer.front());
    if (!done) return std::unexpected(done.error());
    if (*done) return find();
    if (!sitting_.interruption.again_after_suspension(suspensions)) return std::nullopt;
  }
}

db::Expected<std::optional<SittingResult>> Campaign::rehearse() {
  const bool only = sitting_.rehearse == Rehearse::Only;
  if (!only && (sitting_.rehearse == Rehearse::No || next_number_ > 0)) return std::nullopt;
  const auto report = Rehearsal(sitting_).run({.again = only, .limit = sitting_.rehearsal_limit});
  if (!report) return std::unexpected(report.error());
  rehearsal_ = *report;
  SittingResult result{.ending = Ending::Interrupted,
                       .because = "interrupted in the rehearsal",
                       .campaign = sitting_.campaign,
                       .rehearsal = *report};
  if (report->interrupted) return result;
  if (auto known = know_rehearsals(sitting_.campaign); !known) return std::unexpected(known.error());
  result.ending = Ending::Rehearsed;
  result.because = to_text(*report);
  say(report->no_go > 0 ? db::Level::Warning : db::Level::Info, result.because);
  if (!only) return std::nullopt;
  return result;
}

db::Expected<void> Campaign::tell_no_go() {
  for (const db::RehearsalRecord& record : std::exchange(no_go_, {})) {
    if (known_.contains(record.configuration.identity())) continue;
    const db::Ask ask{.strategy = kRehearsalAsk,
                      .seed = 0,
                      .count = 1,
                      .answer = {{.number = next_number_,
                                  .configuration = record.configuration,
                                  .reason = "its row did not pass the rehearsal"}}};
    if (auto recorded = sitting_.store.record_ask(sitting_.campaign, ask); !recorded) return recorded;
    const auto known = TrialRunner(sitting_).conclude(next_number_++, record);
    if (!known) return std::unexpected(known.error());
    strategy_->tell({&*known, 1});
    learn(*known);
    sitting_.observer.finished(*known, false, standing());
  }
  return {};
}

db::Expected<SittingResult> Campaign::search() {
  SittingResult result{.ending = Ending::Interrupted, .because = "interrupted", .campaign = sitting_.campaign};
  for (;;) {
    if (sitting_.interruption.requested()) return result;
    watch_clock();
    if (sitting_.fingerprint_now && sitting_.fingerprint_now().key() != sitting_.fingerprint.key()) {
      result.ending = Ending::MachineChanged;
      result.because = "the machine or its software changed";
      return result;
    }
    if (pending_.empty() && next_number_ > 0) {
      if (auto told = tell_no_go(); !told) return std::unexpected(told.error());
    }
    if (pending_.empty()) {
      // The default comes first, whatever the budget: everything is compared with it. Then what a person wants, then
      // each framework once.
      const space::Configuration* wish = next_number_ > 0 ? wanted() : nullptr;
      if (const auto why = next_number_ > 0 && wish == nullptr ? search_is_over() : std::nullopt) {
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
      } else if (auto look = first_look()) {
        ask.strategy = kFirstLookAsk;
        proposed.push_back(
            {.configuration = std::move(look->configuration),
             .reason = fmt::format("a first look at {}={}", look->parameter, space::to_text(look->value))});
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
        if (!proposal.claim) continue;
        ask.answer.back().claimed_log_bound = proposal.claim->log_bound;
        ask.answer.back().claimed_log_margin = proposal.claim->margin;
      }
      if (auto recorded = sitting_.store.record_ask(sitting_.campaign, ask); !recorded) {
        return std::unexpected(recorded.error());
      }
      pending_ = std::move(ask.answer);
    }
    const auto suspensions = sitting_.interruption.suspensions();
    const auto done = run_trial(pending_.front());
    if (!done) return std::unexpected(done.error());
    if (!*done && sitting_.interruption.again_after_suspension(suspensions)) continue;
    if (!*done) return result;
    pending_.erase(pending_.begin());
  }
}

db::Expected<SittingResult> Campaign::run(const measure::SweepReport& swept) {
  const auto before = completed_before();
  if (!before) return std::unexpected(before.error());
  if (*before && sitting_.rehearse != Rehearse::Only) {
    sitting_.campaign = **before;
    return SittingResult{
        .ending = Ending::AlreadyDone, .because = "this campaign was completed before", .campaign = **before};
  }
  const auto known = sitting_.store.find_campaign(sitting_.spec.name);
  const bool was_finished = known && known->finished_unix_ns.has_value();
  began_ = sitting_.clock.steady();
  watch_.emplace(sitting_.clock);
  if (const auto& until = sitting_.spec.budget.until) until_ = next_occurrence(*until, sitting_.clock.wall());
  auto verified = verify_changes();
  if (!verified) return std::unexpected(verified.error());
  if (*verified) return std::move(**verified);
  if (auto opened = open(swept); !opened) return std::unexpected(opened.error());
  auto rehearsed = rehearse();
  if (!rehearsed) return std::unexpected(rehearsed.error());
  auto result = *rehearsed ? db::Expected<SittingResult>(std::move(**rehearsed)) : search();
  if (!result) return result;
  result->rehearsal = rehearsal_;
  if (result->ending != Ending::Rehearsed) {
    const std::string sentence =
        fmt::format("the search ended after {} trials, {} of them failed: {}", finished_, failed_, result->because);
    log(result->ending == Ending::Complete ? db::Level::Info : db::Level::Warning, sentence);
    sitting_.observer.search_ended(sentence);
  }
  if (result->ending == Ending::Complete) {
    Finals finals(sitting_, time_frame(sitting_.spec.budget, pace(), sitting_.clock.steady()),
                  [this](const auto& configuration, const std::string& reason) {
                    return run_extra_trial(configuration, reason);
                  });
    auto suspensions = sitting_.interruption.suspensions();
    auto complete = finals.run();
    while (complete && !*complete && sitting_.interruption.again_after_suspension(suspensions)) {
      suspensions = sitting_.interruption.suspensions();
      complete = finals.run();  // does only what is missing
    }
    if (!complete) return std::unexpected(complete.error());
    if (!*complete && sitting_.interruption.requested()) {
      result->ending = Ending::Interrupted;
      result->because = "interrupted while the best was measured again";
      log(db::Level::Warning, result->because);
    } else if (auto done = sitting_.store.finish_campaign(sitting_.campaign); !done) {
      return std::unexpected(done.error());
    }
  } else if (sitting_.rehearse == Rehearse::Only && was_finished && known->id == sitting_.campaign) {
    // Opening it took that mark away; a rehearsal takes nothing away.
    if (auto done = sitting_.store.finish_campaign(sitting_.campaign); !done) return std::unexpected(done.error());
  }
  if (auto released = sitting_.store.release_campaign(sitting_.campaign); !released) {
    return std::unexpected(released.error());
  }
  return result;
}

}  // namespace nocturne::tuner
