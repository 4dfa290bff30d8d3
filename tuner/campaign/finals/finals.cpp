#include "tuner/campaign/finals/finals.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>

#include <fmt/format.h>

#include "search/model/linear_model.hpp"
#include "space/lattice.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/campaign/answer/default_settings.hpp"
#include "tuner/campaign/finals/beliefs.hpp"
#include "tuner/campaign/finals/contradicted_trial.hpp"
#include "tuner/campaign/finals/finalist_race.hpp"
#include "tuner/campaign/finals/finalists.hpp"
#include "tuner/campaign/learned_campaign.hpp"
#include "tuner/campaign/pacing.hpp"
#include "tuner/campaign/trial_runner.hpp"
#include "tuner/executor/pair_driver.hpp"

namespace nocturne::tuner {
namespace {

/// So many of the fastest that train wrongly share what makes them fast, and so may thousands more.
constexpr int kMostRefused = 20;

bool has_left(const measure::ComparisonMember& member) {
  return member.state == measure::MemberState::Failed || member.state == measure::MemberState::Lost;
}

/// `from` with one setting as in the default, and what depends on it filled in or left out. Empty: not allowed.
std::optional<space::Configuration> put_back(const space::Space& space, const space::Configuration& from,
                                             const space::Configuration& baseline, const std::string& name) {
  const space::Value* value = baseline.find(name);
  if (value == nullptr) return std::nullopt;  // it goes when the setting that makes it active is put back
  space::Configuration changed = from;
  changed.set(name, *value);
  // Parameters that depended on the changed one may be inactive now, or need their default.
  changed = space.normalise(changed);
  if (!space.check(changed).empty()) return std::nullopt;
  return changed;
}

}  // namespace

bool Finals::time_for(std::chrono::nanoseconds work) const {
  return !time_ || time_->has_time_for(work, session_.clock.steady());
}

std::function<bool(std::size_t, std::chrono::nanoseconds)> Finals::while_time(std::chrono::nanoseconds pair,
                                                                              std::chrono::nanoseconds after) const {
  return [this, pair, after](std::size_t, std::chrono::nanoseconds measured) {
    return time_for(std::max(pair, measured) + after);
  };
}

std::chrono::nanoseconds Finals::expected_pair(const db::StoredTrial& baseline,
                                               const db::StoredTrial& candidate) const {
  if (pair_time_) return *pair_time_;
  return forecast_pair(session_.spec.verify, pace_of(session_.spec, baseline), pace_of(session_.spec, candidate));
}

std::chrono::nanoseconds Finals::fewest_pairs_time(const db::StoredTrial& baseline,
                                                   const db::StoredTrial& candidate) const {
  if (baseline.trial.outcome != space::Outcome::Ok) return {};
  return expected_pair(baseline, candidate) * fewest_pairs(session_.spec.verify);
}

std::chrono::nanoseconds Finals::expected_verdict(const db::StoredTrial& baseline,
                                                  const db::StoredTrial& candidate) const {
  return forecast_verdict(session_.spec.verify, pace_of(session_.spec, baseline), pace_of(session_.spec, candidate),
                          expected_pair(baseline, candidate));
}

void Finals::give_up_verdict(const db::StoredTrial& baseline, const db::StoredTrial& candidate) {
  no_verdict_ = true;
  const std::chrono::duration<double> pair = expected_pair(baseline, candidate);
  const std::string sentence = fmt::format(
      "no time to compare trial {} with the default: a verdict takes {} pairs of about {:.0f} s each, for which a "
      "budget of {} min has room; time that is left is for the search",
      candidate.trial.number, fewest_pairs(session_.spec.verify), pair.count(),
      wall_for(expected_verdict(baseline, candidate), whole_time().value_or(std::chrono::nanoseconds{0})).count());
  session_.say(db::Level::Warning, sentence);
}

bool Finals::is_time_for_verdict(const db::StoredTrial& baseline) {
  if (!time_) return true;
  const auto fastest = session_.store.best(session_.campaign);
  if (!fastest || fastest->id == baseline.id) return true;  // there is nothing to compare
  const VerifySettings& verify = session_.spec.verify;
  for (const db::StoredComparison& stored : session_.store.comparisons(session_.campaign))
    if (stored.record.role == kVerifyRole && std::ssize(stored.pairs) >= fewest_pairs(verify)) return true;
  if (time_for(expected_verdict(baseline, *fastest))) return true;
  give_up_verdict(baseline, *fastest);
  return false;
}

std::optional<std::chrono::nanoseconds> Finals::whole_time() const {
  return time_ ? std::optional(time_->whole) : std::nullopt;
}

std::chrono::nanoseconds Finals::forecast_epochs(const db::StoredTrial& baseline, const db::StoredTrial& best) const {
  const VerifySettings& verify = session_.spec.verify;
  return reserved_accuracy(verify, *baseline.trial.parts, *best.trial.parts, whole_time()) +
         forecast_band(verify, *baseline.trial.parts, whole_time());
}

bool Finals::run() {
  auto baseline = session_.store.load_numbered_trial(session_.campaign, 0);
  auto of_default = Admission::Refused;  // where it did not train there is nothing to compare with
  if (baseline.trial.outcome == space::Outcome::Ok) {
    if (!is_time_for_verdict(baseline)) return true;
    of_default = gate_.admits(baseline);
    if (of_default == Admission::Interrupted) return false;
  }
  // Who trains wrongly is no winner: the next best may be.
  int judged = 0;
  for (int refused = 0; may_choose(refused, baseline);) {
    auto winner = choose(baseline);
    if (!winner) return !session_.interruption.requested();
    if (winner->id == baseline.id) {
      // What it learns has nothing to be compared with: where no time is kept for that, the search goes on instead.
      const bool is_kept = forecast_epochs(baseline, baseline) > std::chrono::nanoseconds{0};
      return of_default == Admission::Refused || !is_kept || train_both(baseline, baseline);
    }
    auto admission = gate_.admits(*winner, fewest_pairs_time(baseline, *winner));
    if (may_win(admission) && of_default == Admission::Refused) return true;
    if (may_win(admission)) {
      const db::StoredTrial chosen = *winner;
      // Fewer changes are easier to explain and to keep: what gains nothing measurable is put back.
      winner = simplest(baseline, *winner);
      if (!winner) return false;
      if (winner->id != chosen.id) {
        const Admission of_simpler = gate_.admits(*winner, fewest_pairs_time(baseline, *winner));
        if (admission == Admission::Admitted && of_simpler == Admission::NotJudged) {
          tell_stays(chosen, *winner);
          winner = chosen;
        } else {
          admission = of_simpler;
        }
      }
    }
    if (may_win(admission)) {
      const bool verified = verify(baseline, *winner);
      if (verified && chooses_another(baseline, *winner, ++judged)) continue;
      const bool trained = train_both(baseline, *winner);
      admission = gate_.admits_epoch(*winner, baseline);
      if (may_win(admission)) return verified && trained;
    }
    if (admission == Admission::Interrupted) return false;
    ++refused;
  }
  return false;
}

void Finals::tell_stays(const db::StoredTrial& chosen, const db::StoredTrial& simpler) const {
  session_.observer.note(fmt::format(
      "trial {} stays chosen: it was judged to train rightly, and trial {}, which has fewer changes, was not "
      "judged",
      chosen.trial.number, simpler.trial.number));
}

bool Finals::chooses_another(const db::StoredTrial& baseline, const db::StoredTrial& winner, int judged) {
  if (judged >= kMostWinners || session_.interruption.requested()) return false;
  if (!is_shown_slower(session_, baseline, winner.trial.configuration)) return false;
  const auto again = forecast_verdict(session_.spec.verify, pace_of(session_.spec, baseline),
                                      pace_of(session_.spec, winner), expected_pair(baseline, winner));
  if (!time_for(again)) return false;
  say_another_is_chosen(session_, winner);
  return true;
}

bool Finals::may_choose(int refused, const db::StoredTrial& baseline) {
  if (refused == 0) return true;
  if (refused >= kMostRefused) {
    session_.observer.note(
        fmt::format("{} of the fastest were refused, and no further one is judged: look at what they share, forbid it "
                    "with a constraint, and start again",
                    refused));
    return false;
  }
  const bool nothing_to_compare = baseline.trial.outcome != space::Outcome::Ok;
  if (nothing_to_compare ? time_for({}) : is_time_for_verdict(baseline)) return true;
  session_.observer.note(fmt::format(
      "the time is over, and no further one is judged after {} that {} refused: what is shown as the best was not "
      "verified; start again with more time",
      refused, refused == 1 ? "was" : "were"));
  return false;
}

bool Finals::train_both(const db::StoredTrial& baseline, const db::StoredTrial& best) {
  if (session_.spec.verify.accuracy_epochs == 0) return true;
  bool complete = true;
  for (const auto& [trial, who] : {std::pair{&best, "best"}, std::pair{&baseline, "default"}}) {
    const auto trained = accuracy(*trial, who);
    complete = complete && trained;
  }
  return complete;
}

int Finals::pairs_to_choose(const db::StoredTrial& fastest, const db::StoredTrial& baseline) const {
  const VerifySettings& verify = session_.spec.verify;
  if (!time_ || verify.finalists < 2) return verify.selection_pairs;
  const Pace best = pace_of(session_.spec, fastest);
  const Pace slower = baseline.trial.parts ? pace_of(session_.spec, baseline) : best;
  const auto spare = time_->end - session_.clock.steady() - forecast_finals(verify, slower, best, whole_time());
  // What is left is shared with the simplification.
  const auto pairs =
      static_cast<std::int64_t>(spare / forecast_pair(verify, best, best)) * (verify.simplify ? 2 : 3) / 3;
  return static_cast<int>(std::clamp<std::int64_t>(pairs, 0, verify.selection_pairs));
}

std::optional<db::StoredTrial> Finals::choose(const db::StoredTrial& baseline) {
  const auto trials = session_.store.list_trials({.campaign = session_.campaign, .state = db::TrialState::Finished});
  const VerifySettings& verify = session_.spec.verify;
  const auto beliefs = beliefs_of_rivals(session_, trials, baseline);
  const auto first = choose_finalists(trials, beliefs, 1);
  const auto smallest = session_.store.best(session_.campaign);
  if (first.empty() || !smallest) return std::nullopt;
  // Where the default is believed to be the fastest, and is not by its estimate, fresh pairs will say.
  const db::StoredTrial& fastest = first.front().changes > 0 ? trials[first.front().trial] : *smallest;
  const int pairs = pairs_to_choose(fastest, baseline);
  // Each takes part in two pairs on average, or they tell nothing.
  const auto most = static_cast<std::size_t>(std::min(verify.finalists, pairs));
  const auto finalists = choose_finalists(trials, beliefs, most);
  if (finalists.size() < 2)
    return is_shown_slower(session_, baseline, fastest.trial.configuration) ? baseline : fastest;
  FinalistRace race(session_, trials, finalists, nodes_);
  const auto after = fewest_pairs_time(baseline, fastest);
  const auto winner = race.run(pairs, [&](std::chrono::nanoseconds pair) { return time_for(pair + after); });
  return winner ? std::optional(trials[*winner]) : std::nullopt;
}

std::optional<db::StoredTrial> Finals::simplest(const db::StoredTrial& baseline, const db::StoredTrial& winner) {
  const VerifySettings& verify = session_.spec.verify;
  if (!verify.simplify) return winner;
  const auto trials = session_.store.list_trials({.campaign = session_.campaign, .state = db::TrialState::Finished});
  space::Lattice lattice(session_.spec.space);
  auto model = model_of_times(lattice, search::model::kForReports, trials);
  // A model of a handful of trials would guess, and each guess costs a trial and its pairs.
  if (model.size() < kFewestForModel) return winner;
  const auto predicted = [&](const space::Configuration& configuration) {
    const auto point = lattice.point_of(configuration);
    return point ? model.predict(*point).mean : std::numeric_limits<double>::infinity();
  };
  const auto way = simplify(session_.spec.space, winner.trial.configuration, baseline.trial.configuration, predicted,
                            verify.margin_percent);
  // The boldest step first; where it is too bold, half of the way.
  for (std::size_t steps = way.size(); steps > 0; steps = steps == way.size() ? steps / 2 : 0) {
    const Pace fast = pace_of(session_.spec, winner);
    // The pairs that report the gain and the epochs that check the training come after this, and must still fit.
    const auto reserved = forecast_pair(verify, pace_of(session_.spec, baseline), fast) * verify.pairs +
                          forecast_epochs(baseline, winner);
    const auto simpler = forecast_trial(session_.spec.run, fast) + forecast_pair(verify, fast, fast) * verify.pairs;
    if (!time_for(simpler + reserved)) return winner;
    if (is_shown_slower(session_, baseline, way[steps - 1])) continue;
    session_.observer.simplifying(changes_between(winner.trial.configuration, baseline.trial.configuration).size(),
                                  changes_between(way[steps - 1], baseline.trial.configuration).size());
    auto found = as_fast(way[steps - 1], winner, reserved);
    if (session_.interruption.requested()) return std::nullopt;
    session_.observer.simplified(found.has_value());
    if (found) return found;
  }
  return winner;
}

std::optional<db::StoredTrial> Finals::as_fast(const space::Configuration& simpler, const db::StoredTrial& winner,
                                               std::chrono::nanoseconds after) {
  auto trial = extra_trial_(simpler, "the winner with fewer changes");
  if (!trial || trial->trial.outcome != space::Outcome::Ok || !trial->trial.parts) return std::nullopt;
  auto comparing = Comparing::open(session_, winner, *trial, kSimplifyRole);
  if (!comparing) return std::nullopt;
  const VerifySettings& verify = session_.spec.verify;
  auto driver = PairDriver::open(
      {&*comparing}, {.pairs = verify.pairs, .most_pairs = verify.pairs, .margin_percent = verify.margin_percent});
  const Pace pace = pace_of(session_.spec, winner);
  const auto end = driver.run({.time_for = while_time(forecast_pair(verify, pace, pace), after), .nodes = nodes_});
  const measure::ComparisonMember& member = driver.comparison().members().front();
  const auto& judged = member.comparison;
  if (end != PairsEnd::Complete || has_left(member) || !judged) return std::nullopt;
  const double margin = std::log1p(verify.margin_percent / 100);
  // Not proven slower is not enough: the interval may be wide. Its centre has to lie within the margin, too.
  if (judged->verdict == measure::Verdict::Slower || judged->log_ratio < -margin) return std::nullopt;
  return trial;
}

std::optional<measure::ComparisonPolicy> Finals::fit_looks(const measure::ComparisonPolicy& planned,
                                                           std::chrono::nanoseconds pair,
                                                           std::chrono::nanoseconds training,
                                                           std::int64_t known) const {
  const VerifySettings& verify = session_.spec.verify;
  if (!time_ || time_for(pair * std::max<std::int64_t>(0, verify.pairs - known) + training)) return planned;
  const auto left = std::max(time_->end - session_.clock.steady(), std::chrono::nanoseconds{0});
  const auto fitting = [&](std::chrono::nanoseconds time) {
    const std::int64_t more = pair > std::chrono::nanoseconds{0} ? time / pair : verify.pairs;
    return static_cast<int>(std::clamp<std::int64_t>(known + more, 0, verify.pairs));
  };
  // A verdict without the accuracy says more than an accuracy without a verdict.
  const int pairs = std::max(fitting(left - training), std::min(fitting(left), fewest_pairs(verify)));
  if (pairs < fewest_pairs(verify)) return std::nullopt;
  return measure::ComparisonPolicy{.pairs = pairs, .most_pairs = pairs, .margin_percent = verify.margin_percent};
}

std::vector<std::string> Finals::nodes_that_chose() const {
  if (nodes_ == nullptr) return {};
  std::set<std::string> fingerprints;
  for (const db::StoredComparison& each : session_.store.comparisons(session_.campaign)) {
    if (each.record.role != kSelectRole && each.record.role != kSimplifyRole) continue;
    for (const db::StoredPair& pair : each.pairs) fingerprints.insert(pair.fingerprint);
  }
  std::vector<std::string> nodes;
  for (const std::string& fingerprint : fingerprints) nodes.push_back(host_of(session_.store, fingerprint));
  return nodes;
}

bool Finals::verify(db::StoredTrial& baseline, db::StoredTrial& candidate) {
  auto opened = Comparing::open(session_, baseline, candidate, kVerifyRole);
  if (!opened) return false;
  Comparing& comparing = *opened;
  const auto training = forecast_epochs(baseline, candidate);
  const auto expected = expected_pair(baseline, candidate);
  // What trials took, not what pairs took by now: looks are planned once.
  const auto forecast =
      forecast_pair(session_.spec.verify, pace_of(session_.spec, baseline), pace_of(session_.spec, candidate));
  const auto planned = planned_pairs(session_.spec.verify, session_.spec.budget.wall, forecast);
  const auto policy = fit_looks(planned, expected, training, comparing.pairs());
  if (!policy) {
    give_up_verdict(baseline, candidate);
    return true;
  }
  const int fewest = fewest_pairs(session_.spec.verify);
  auto driver = PairDriver::open({&comparing}, *policy);
  int granted = 0;  // the look whose pairs are begun
  const auto time_until_look = [&](std::size_t, std::chrono::nanoseconds pair) {
    const int look = driver.comparison().next_look();
    const bool is_first = look <= policy->pairs, is_begun = is_first || look <= granted;
    const int wanted = is_first ? fewest : is_begun ? 0 : look;
    const auto more = std::max<std::int64_t>(1, wanted - comparing.pairs());
    const auto after = is_begun ? std::chrono::nanoseconds{0} : training;
    if (!time_for(std::max(pair, expected) * more + after)) {
      session_.observer.note(
          fmt::format("the comparison ends after {} pairs: {} more do not fit into the time that is left",
                      comparing.pairs(), more));
      return false;
    }
    granted = look;
    return true;
  };
  const auto end = driver.run({.time_for = time_until_look, .nodes = nodes_, .avoided = nodes_that_chose()});
  if (const auto took = comparing.pair_time(); took > std::chrono::nanoseconds{0}) pair_time_ = took;
  if (end == PairsEnd::Interrupted) return false;
  heed_pairs(comparing, baseline, candidate);
  if (end == PairsEnd::Complete) return !has_left(driver.comparison().members().front());
  // Out of time: what there is gets judged with its share of the error, and is reported as undecided.
  driver.stop();
  no_verdict_ = comparing.pairs() < fewest;
  return true;
}

void Finals::heed_pairs(const Comparing& comparing, db::StoredTrial& baseline, db::StoredTrial& candidate) {
  // Trials that take turns with the default are known by their ratio to it already, and it is the level of all.
  if (session_.spec.run.method == TrialMethod::Paired) return;
  auto judged = contradicted_trial(baseline.trial, candidate.trial, comparing.judged_pairs().pairs,
                                   session_.spec.objective.primary);
  if (!judged) return;
  db::StoredTrial& moved = judged->trial.number == baseline.trial.number ? baseline : candidate;
  moved.trial = std::move(judged->trial);
  session_.store.update_trial(moved.id, db::result_of(moved.trial));
  session_.say(db::Level::Warning, judged->sentence);
  judged_again_.push_back(moved.trial);
}

bool Finals::is_time_for_accuracy(const db::StoredTrial& trial, const std::string& who) const {
  const VerifySettings& verify = session_.spec.verify;
  const auto needed = forecast_accuracy(verify, *trial.trial.parts);
  if (time_for(needed)) return true;
  session_.observer.note(fmt::format("{}: no time to train {} epoch{} for its accuracy, about {:.0f} s", who,
                                     verify.accuracy_epochs, verify.accuracy_epochs == 1 ? "" : "s",
                                     std::chrono::duration<double>(needed).count()));
  return false;
}

bool Finals::accuracy(const db::StoredTrial& trial, const std::string& who) {
  const std::int64_t epochs = session_.spec.verify.accuracy_epochs;
  const auto detail = session_.store.load_trial(trial.id);
  // An epoch may take an hour: one that an earlier session trained is not trained again.
  for (const db::StoredRun& stored : detail.runs)
    if (trained_for_accuracy(stored.record.run, epochs)) return true;
  if (session_.interruption.requested() || !is_time_for_accuracy(trial, who)) return false;
  const auto prepared = session_.prepare(trial.trial.configuration);
  if (!prepared) {
    if (!session_.interruption.requested()) session_.observer.note(fmt::format("{}: {}", who, prepared.error().reason));
    return false;
  }
  session_.observer.training(who, epochs);
  // Three times what it should take: the deadline is for hangs, not for a busy minute.
  const double expected = space::total_time(*trial.trial.parts, static_cast<double>(epochs));
  const auto deadline = std::max<std::chrono::nanoseconds>(
      session_.spec.run.deadline, std::chrono::nanoseconds(static_cast<std::int64_t>(3e9 * expected + 30e9)));
  const GateOrder order{.configuration = trial.trial.configuration,
                        .run = {.purpose = space::Purpose::Gate,
                                .epochs = epochs,
                                .accuracy = true,
                                .seed = session_.spec.run.seed,
                                .deadline = deadline}};
  const auto answer = run_here(session_, order, *prepared, trial.id);
  if (answer.end != OrderEnd::Finished) return false;
  session_.observer.trained(who, answer.run.run);
  return answer.run.run.outcome == space::Outcome::Ok;
}

std::vector<space::Configuration> simplify(const space::Space& space, const space::Configuration& winner,
                                           const space::Configuration& baseline, const PredictedLogTime& predicted,
                                           double margin_percent) {
  const double most = predicted(winner) + std::log1p(margin_percent / 100);
  std::vector<space::Configuration> way;
  space::Configuration current = winner;
  for (;;) {
    std::optional<space::Configuration> best;
    double best_time = std::numeric_limits<double>::infinity();
    const auto differing = changes_between(current, baseline);
    for (const Change& change : differing) {
      auto simpler = put_back(space, current, baseline, change.parameter);
      // What fills itself in must not differ from the default in turn: then nothing would be gained.
      if (!simpler || changes_between(*simpler, baseline).size() >= differing.size()) continue;
      const double time = predicted(*simpler);
      if (time <= most && time < best_time) {
        best_time = time;
        best = std::move(simpler);
      }
    }
    if (!best || *best == baseline) return way;
    current = *best;
    way.push_back(*std::move(best));
  }
}

}  // namespace nocturne::tuner
