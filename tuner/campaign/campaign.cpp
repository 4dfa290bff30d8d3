#include "tuner/campaign/campaign.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "db/records.hpp"
#include "space/word_list.hpp"
#include "tuner/campaign/finals/finals.hpp"
#include "tuner/campaign/finals/target_finals.hpp"
#include "tuner/campaign/machine_changes.hpp"
#include "tuner/campaign/pacing.hpp"
#include "tuner/campaign/replayed_exchanges.hpp"
#include "tuner/campaign/resume.hpp"
#include "tuner/campaign/trial_runner.hpp"
#include "tuner/campaign_file/framework_values.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::tuner {
namespace {

/// The source of what the finals ask for beside the search.
constexpr const char* kFinalsAsk = "finals";
/// And what learning curves ask for before it.
constexpr const char* kCurvesAsk = "learning curves";

/// So many trials of which none trained are likelier to fail for what they share than for what they vary.
constexpr std::int64_t kNoneTrained = 10;

/// What makes the whole campaign pointless, said while the user may still be there. Empty: nothing does.
std::vector<std::string> warnings_after(const space::Trial& trial, const SearchState& state) {
  std::vector<std::string> warnings;
  if (trial.outcome == space::Outcome::Ok) return warnings;
  if (trial.number == 0) {
    warnings.emplace_back(
        "the default configuration did not train: the campaign goes on, but there will be no gain over it to report");
  }
  if (state.finished() == kNoneTrained && state.failed() == state.finished()) {
    warnings.push_back(
        fmt::format("none of the first {} configurations has trained; look at what they share: '{}' has the last one's "
                    "output",
                    state.finished(), command_text({"show", fmt::format("{}", trial.number), "--log"})));
  }
  return warnings;
}

/// The one of the smallest estimate; empty: none ended well.
std::optional<db::TrialId> fastest_trial(const Session& session) {
  const auto best = session.store.best(session.campaign);
  return best ? std::optional(best->id) : std::nullopt;
}

}  // namespace

Campaign::Campaign(Session& session, bool fresh, OrderExecutor* executor)
    : session_(session),
      executor_(executor),
      fresh_(fresh),
      local_(session),
      log_(session),
      state_(session.spec, session.clock),
      paired_(session, executor == nullptr),
      disturbed_(session, executor == nullptr),
      scheduler_(executor != nullptr ? *executor : local_, session.clock),
      nodes_(session.spec.run.process_sd) {}

std::optional<SessionResult> Campaign::verify_changes() {
  if (fresh_) return std::nullopt;
  const auto recheck = recheck_after_changes(session_);
  set_aside_ = recheck.end == Recheck::End::SetAside;
  if (recheck.end == Recheck::End::Nothing) return std::nullopt;
  if (recheck.end != Recheck::End::Interrupted) {
    log_.say(set_aside_ ? db::Level::Warning : db::Level::Info, recheck.sentence);
    return std::nullopt;
  }
  SessionResult result{.campaign = session_.store.load_campaign(session_.spec.name).id};
  was_cut_short(result, " while the default was measured again");
  if (result.ending == Ending::Interrupted) result.because = recheck.sentence;
  return result;
}

SearchEnd Campaign::cut_short(std::string_view when) const {
  if (session_.interruption.requested() || !session_.interruption.out_of_time())
    return {Ending::Interrupted, fmt::format("interrupted{}", when)};
  return {Ending::OutOfTime,
          fmt::format("the campaign's time was over{}: what was being installed or built was cut, and the same command "
                      "goes on",
                      when)};
}

void Campaign::was_cut_short(SessionResult& result, std::string_view when) const {
  SearchEnd end = cut_short(when);
  result.ending = end.ending;
  result.because = std::move(end.because);
}

void Campaign::prepare_within(std::optional<std::chrono::nanoseconds> time) {
  using std::chrono::steady_clock;  // of processes, whatever the campaign's clock is
  session_.interruption.prepare_until(time ? std::optional(steady_clock::now() + *time) : std::nullopt);
}

void Campaign::open(const measure::SweepReport& swept) {
  const auto begun = begin_campaign(session_, fresh_, set_aside_);
  auto informed = make_informed_strategy(session_, log_);
  strategy_ = std::move(informed.strategy);
  costs_ = std::move(informed.costs);
  failed_stacks_ = read_preflight(session_, costs_.get());
  sources_ = make_sources({.spec = session_.spec,
                           .state = state_,
                           .strategy = *strategy_,
                           .costs = costs_.get(),
                           .enqueued = session_.wanted,
                           .failed_stacks = failed_stacks_,
                           .history = informed.history});

  const auto exchanges = session_.store.exchanges(session_.campaign);
  for (const db::Exchange& exchange : exchanges) {
    const auto* const ask = std::get_if<db::Ask>(&exchange);
    if (ask == nullptr) continue;
    // All sources hear all asks, as they did in the session in which these were made.
    for (const auto& source : sources_) source->remember(*ask);
    for (const db::AskAnswer& asked : ask->answer) state_.asked(asked);
  }
  ReplayedExchanges replayed = replay_exchanges(exchanges, *strategy_, begun.record.strategy, begun.record.seed);
  for (const space::Trial& trial : replayed.told) state_.learn(trial);
  for (db::AskAnswer& asked : replayed.pending) scheduler_.enqueue(std::move(asked));
  count_earlier_time(session_, state_);
  nodes_.refer_to(node_of_default(session_));
  tell_again(paired_.open());

  const Opening opening = opening_of(session_, begun, swept);
  session_.observer.opened(opening);
  log_.log(db::Level::Info, fmt::format("{}: {} trials known, {} interrupted ones to run again; strategy {}, seed {}",
                                        begun.handle.resumed ? "resumed" : "opened", begun.handle.finished,
                                        opening.recovery.trials.size(), begun.record.strategy, begun.record.seed));
  log_.open();
  if (auto how = paired_.sentence(); !how.empty()) log_.say(db::Level::Info, std::move(how));
  for (const UnavailableFramework& framework : session_.spec.unavailable)
    log_.say(db::Level::Info, fmt::format("unavailable here: {}: {}", text_of(framework), framework.reason));
  if (!session_.spec.shipped_build.empty()) log_.say(db::Level::Info, session_.spec.shipped_build);
  if (opening.recovery.after_kill()) log_.log(db::Level::Warning, to_text(opening.recovery));
  if (replayed.deviations > 0) {
    log_.say(db::Level::Warning,
             fmt::format("the strategy '{}' proposes otherwise than when this campaign began ({} times): it goes on "
                         "from what was measured",
                         begun.record.strategy, replayed.deviations));
  }
}

SessionResult Campaign::preflight() {
  const bool only = session_.preflight == PreflightMode::Only;
  SessionResult result{.campaign = session_.campaign};
  if (!only && (session_.preflight == PreflightMode::No || state_.next_number() > 0)) return result;
  if (!only) prepare_within(state_.preparation_time());  // else it is for as long as it takes
  const auto report = Preflight(session_).run({.again = only, .limit = session_.preflight_limit});
  result.preflight = report;
  if (report.interrupted) {
    was_cut_short(result, " in the preflight");
    return result;
  }
  failed_stacks_ = read_preflight(session_, costs_.get());
  if (only) result.ending = Ending::PreflightOnly;
  result.because = to_text(report);
  log_.say(report.failed_stacks > 0 ? db::Level::Warning : db::Level::Info, result.because);
  return result;
}

std::optional<SearchEnd> Campaign::must_stop() {
  if (session_.interruption.requested()) return SearchEnd{Ending::Interrupted, "interrupted"};
  if (auto happened = state_.watch_clock()) log_.say(db::Level::Warning, *std::move(happened));
  if (session_.fingerprint_now && session_.fingerprint_now().key() != session_.fingerprint.key())
    return SearchEnd{Ending::MachineChanged, "the machine or its software changed"};
  return std::nullopt;
}

void Campaign::ask(Asking asking) {
  const auto expected = asking.proposal.expected;
  db::AskAnswer asked = numbered(std::move(asking.proposal), state_.next_number());
  const db::Ask record{.strategy = std::move(asking.source), .seed = asking.seed, .count = 1, .answer = {asked}};
  // Stored before it is measured: a kill in between leaves a number to be measured, and the strategy is rebuilt with
  // this ask.
  session_.store.record_ask(session_.campaign, record);
  state_.asked(asked);
  if (asking.failed) return settle(answer_of_preflight(session_, asked.number, *asking.failed), std::nullopt);
  scheduler_.enqueue(std::move(asked), expected);
}

std::optional<std::string> Campaign::propose() {
  for (const auto& source : sources_) {
    if (source->needs_budget()) {
      if (auto why = state_.is_over()) return why;
    }
    auto asking = source->propose();
    if (!asking) continue;
    ask(*std::move(asking));
    return std::nullopt;
  }
  return "nothing is left to try";
}

std::optional<SearchEnd> Campaign::fill_slots() {
  while (scheduler_.has_free_slot()) {
    if (auto stop = must_stop()) return stop;
    while (scheduler_.queue_is_empty()) {  // it stays so where the result of what was asked is known already
      auto nothing = propose();
      if (nothing && scheduler_.in_flight() > 0) return std::nullopt;  // what is told next may change that
      if (nothing) return SearchEnd{Ending::Complete, *std::move(nothing)};
    }
    prepare_within(state_.preparation_time());
    submit_next(state_.run_limit());
  }
  return std::nullopt;
}

void Campaign::submit_next(std::optional<std::chrono::nanoseconds> limit) {
  local_.pair_with(paired_.reference());
  scheduler_.submit_next(incumbent(), limit);
}

void Campaign::tell_again(const std::vector<space::Trial>& changed) {
  if (changed.empty()) return;
  strategy_->tell(changed);
  std::vector<space::Trial> all;
  for (db::StoredTrial& stored :
       session_.store.list_trials({.campaign = session_.campaign, .state = db::TrialState::Finished}))
    all.push_back(std::move(stored.trial));
  state_.revise(all);
}

std::optional<space::Estimate> Campaign::incumbent() const {
  // The time to an accuracy is composed here, so that nobody who measures can compare with it.
  return curves_ ? std::nullopt : state_.incumbent();
}

SearchEnd Campaign::search() {
  std::optional<SearchEnd> end;
  for (;;) {
    if (!end) end = fill_slots();
    if (scheduler_.in_flight() == 0) return *std::move(end);
    if (left_to_the_next_session(settle_next()) && !end) end = cut_short("");
  }
}

TrialAnswer::End Campaign::settle_next() {
  const auto ended = scheduler_.next();
  const TrialAnswer& answer = ended.answer;
  if (answer.end == TrialAnswer::End::OutOfTime) session_.interruption.cut_preparation();  // wherever it was
  if (answer.end != TrialAnswer::End::Finished) return answer.end;
  if (answer.number == 0 && answer.trial.estimate && !answer.node.empty()) {
    nodes_.learn(answer.node, *answer.trial.estimate);
    nodes_.refer_to(answer.node);
  }
  learn_nodes();
  settle(answer, ended.since_submitted);
  tell_again(disturbed_.learn(answer));
  return answer.end;
}

void Campaign::learn_nodes() {
  for (DefaultOnNode& each : scheduler_.take_defaults()) {
    if (each.answer.trial.estimate) nodes_.learn(each.node, *each.answer.trial.estimate);
    defaults_.push_back(std::move(each));
  }
  if (!state_.knows_default()) return;  // whose trial their runs belong to
  const auto measured = std::exchange(defaults_, {});
  store_defaults(session_, measured);
  for (const DefaultOnNode& each : measured)
    if (auto remark = nodes_.remark(each.node); !remark.empty()) log_.say(db::Level::Info, std::move(remark));
}

void Campaign::settle(TrialAnswer answer, std::optional<std::chrono::nanoseconds> took) {
  if (curves_ && !answer.equal_to) curves_->compose(answer.trial);
  take_away(nodes_.effect(answer.node), answer.trial);
  store_answer(session_, answer, took.value_or(std::chrono::nanoseconds{0}));
  space::Trial trial = answer.trial;
  // What is told now is what is told when it is resumed: the rule of a trial's memory is the store's alone.
  const space::Trial stored = session_.store.load_numbered_trial(session_.campaign, trial.number).trial;
  trial.peak_bytes = stored.peak_bytes;
  trial.device_bytes = stored.device_bytes;
  trial.device_memory_bytes = stored.device_memory_bytes;
  if (took && !answer.equal_to)
    state_.took(trial.number, *took, trial.estimate ? std::max<std::int64_t>(trial.estimate->runs, 1) : 1);
  strategy_->tell({&trial, 1});
  state_.learn(trial);
  if (curves_ && answer.equal_to) recompose();  // other curves may have spoken where it was measured
  tell_again(paired_.learn(answer));
  session_.observer.finished(trial, answer.equal_to.has_value(), state_.progress());
  if (!took) return;
  for (std::string& warning : warnings_after(trial, state_)) log_.say(db::Level::Warning, std::move(warning));
}

std::optional<db::StoredTrial> Campaign::measure_now(const char* source, const space::Configuration& configuration,
                                                     const std::string& reason) {
  if (!state_.was_asked(configuration))
    ask({.source = source, .proposal = {.configuration = configuration, .reason = reason}});
  while (!state_.knows(configuration)) {
    if (!scheduler_.queue_is_empty() && scheduler_.has_free_slot()) submit_next();
    if (left_to_the_next_session(settle_next())) return std::nullopt;
  }
  auto trials = session_.store.list_trials(
      {.campaign = session_.campaign, .state = db::TrialState::Finished, .configuration = configuration.identity()});
  return trials.empty() ? std::nullopt : std::optional(std::move(trials.front()));
}

void Campaign::announce_end(const SessionResult& result) {
  const std::string sentence =
      fmt::format("the search ended after {}, {} of them failed: {}",
                  space::counted(state_.finished(), "trial", "trials"), state_.failed(), result.because);
  log_.log(result.ending == Ending::Complete ? db::Level::Info : db::Level::Warning, sentence);
  session_.observer.search_ended(sentence);
}

void Campaign::search_and_verify(SessionResult& result) {
  std::optional<std::optional<db::TrialId>> verified;  // the best after the finals before; empty: there were none
  do {
    const auto finished = state_.finished();
    SearchEnd end = search();
    if (verified && end.ending == Ending::Complete && state_.finished() == finished) return;  // nothing is left to try
    result.ending = end.ending;
    result.because = std::move(end.because);
    announce_end(result);
    // Where something was cut, time may be kept for the finals.
    const bool is_cut = result.ending == Ending::OutOfTime && state_.knows_default();
    if (result.ending != Ending::Complete && !is_cut) return;
    // The same best would only be measured against the default again, and for another there is no time either.
    if (verified && (state_.is_without_verdict() || fastest_trial(session_) == *verified)) continue;
    verify_best(result);
    verified = fastest_trial(session_);
  } while (result.ending == Ending::Complete && !session_.interruption.requested() && state_.goes_on_after_finals());
}

void Campaign::draw_curves(SessionResult& result) {
  if (!session_.spec.objective.target) return;
  const auto measure = [this](const space::Configuration& configuration, const std::string& reason) {
    return measure_now(state_.next_number() == 0 ? "default" : kCurvesAsk, configuration, reason);
  };
  curves_.emplace(session_, measure, whole_time(session_.spec.budget, state_.pace()));
  recompose();  // by the curves of earlier sessions
  if (measure(session_.spec.space.default_configuration(), "") && curves_->run()) return recompose();
  was_cut_short(result, " while learning curves were drawn");
}

void Campaign::recompose() {
  std::vector<space::Trial> trials;
  for (db::StoredTrial& stored :
       session_.store.list_trials({.campaign = session_.campaign, .state = db::TrialState::Finished})) {
    space::Trial& trial = stored.trial;
    const auto before = trial.parts;
    curves_->compose(trial);
    if (trial.parts != before) {
      session_.store.update_trial(stored.id, db::result_of(trial));
      strategy_->tell({&trial, 1});
    }
    trials.push_back(std::move(trial));
  }
  state_.revise(trials);
}

template <typename AnyFinals>
bool Campaign::run_past_suspensions(AnyFinals& finals) {
  for (;;) {
    const auto suspensions = session_.interruption.suspensions();
    if (finals.run()) return true;
    if (!session_.interruption.again_after_suspension(suspensions)) return false;
  }
}

bool Campaign::train_best(const std::optional<TimeFrame>& time) {
  TargetFinals finals(session_, time, *curves_, [this] { recompose(); });
  const bool complete = run_past_suspensions(finals);
  if (finals.no_verdict()) state_.has_no_verdict();
  return complete;
}

void Campaign::verify_best(SessionResult& result) {
  const auto time = time_frame(session_.spec.budget, state_.pace(), session_.clock.steady());
  prepare_within(time ? std::optional(time->end - session_.clock.steady()) : std::nullopt);
  const bool complete = curves_ ? train_best(time) : race_best(time);
  const bool is_cut = session_.interruption.requested() || session_.interruption.out_of_time();
  if (complete || !is_cut) return;
  was_cut_short(result, " while the best was measured again");
  log_.log(db::Level::Warning, result.because);
}

bool Campaign::race_best(const std::optional<TimeFrame>& time) {
  Finals finals(
      session_, time,
      [this](const auto& configuration, const std::string& reason) {
        return measure_now(kFinalsAsk, configuration, reason);
      },
      state_.pair_time(), executor_);
  const bool complete = run_past_suspensions(finals);
  if (const auto pair = finals.pair_time()) state_.pair_took(*pair);
  learn_nodes();  // a node that had no trial measures the default before its first pair
  if (finals.no_verdict()) state_.has_no_verdict();
  tell_again(finals.judged_again());
  return complete;
}

SessionResult Campaign::run(const measure::SweepReport& swept) {
  const bool preflight_only = session_.preflight == PreflightMode::Only;
  const auto before = completed_before(session_, fresh_);
  if (before && !preflight_only) {
    session_.campaign = *before;
    return SessionResult{
        .ending = Ending::AlreadyDone, .because = "this campaign was completed before", .campaign = *before};
  }
  const auto known = session_.store.find_campaign(session_.spec.name);
  const bool was_finished = known && known->finished_unix_ns.has_value();
  if (!preflight_only) prepare_within(state_.preparation_time());
  auto verified = verify_changes();
  if (verified) return *std::move(verified);
  open(swept);

  SessionResult result = preflight();
  if (result.ending == Ending::Complete) draw_curves(result);
  if (result.ending == Ending::Complete)
    search_and_verify(result);
  else if (result.ending != Ending::PreflightOnly)
    announce_end(result);
  if (result.ending == Ending::Complete) {
    session_.store.finish_campaign(session_.campaign);
  } else if (preflight_only && was_finished && known->id == session_.campaign) {
    // Opening it took that mark away; a preflight takes nothing away.
    session_.store.finish_campaign(session_.campaign);
  }
  // At the end only: until here no other process may tune this campaign.
  session_.store.release_campaign(session_.campaign);
  return result;
}

}  // namespace nocturne::tuner
