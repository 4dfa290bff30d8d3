#include "tuner/campaign/finals/finals.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "measure/comparison/planned_looks.hpp"
#include "search/model/linear_model.hpp"
#include "space/lattice.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/campaign/answer/changes.hpp"
#include "tuner/campaign/finals/finalists.hpp"
#include "tuner/campaign/finals/simplify.hpp"
#include "tuner/campaign/finals/stored_pairs.hpp"
#include "tuner/campaign/learned.hpp"
#include "tuner/campaign/pacing.hpp"

namespace nocturne::tuner {
namespace {

/// Fewer pairs than this choose nothing.
constexpr std::int64_t kFewestSelectionPairs = 2;

/// So many of the fastest that train wrongly share what makes them fast, and so may thousands more.
constexpr int kMostRefused = 20;

/// A finalist that is measured against the champion.
struct Challenger {
  std::size_t finalist;  // index into the finalists
  Comparing comparing;
};

}  // namespace

bool Finals::time_for(std::chrono::nanoseconds work) const {
  return !time_ || sitting_.clock.steady() + work <= time_->end;
}

std::optional<std::chrono::nanoseconds> Finals::whole_time() const {
  return time_ ? std::optional(time_->whole) : std::nullopt;
}

std::chrono::nanoseconds Finals::forecast_epochs(const db::StoredTrial& baseline, const db::StoredTrial& best) const {
  const VerifySettings& verify = sitting_.spec.verify;
  return forecast_accuracy(verify, *baseline.trial.parts, *best.trial.parts) +
         forecast_band(verify, *baseline.trial.parts, whole_time());
}

db::Expected<bool> Finals::run() {
  const auto baseline = sitting_.store.find_trial(sitting_.campaign, 0);
  if (!baseline) return std::unexpected(baseline.error());
  auto of_default = Admission::Refused;  // where it did not train there is nothing to compare with
  if (baseline->trial.outcome == space::Outcome::Ok) {
    const auto admission = gate_.admits(*baseline);
    if (!admission) return std::unexpected(admission.error());
    of_default = *admission;
    if (of_default == Admission::Interrupted) return false;
  }
  for (int refused = 0; may_choose(refused); ++refused) {  // who trains wrongly is no winner: the next best may be
    auto winner = choose(*baseline);
    if (!winner) return std::unexpected(winner.error());
    if (!*winner) return !sitting_.interruption.requested();
    const bool is_default = (*winner)->id == baseline->id;
    if (!is_default) {
      const auto admission = gate_.admits(**winner);
      if (!admission) return std::unexpected(admission.error());
      if (*admission == Admission::Interrupted) return false;
      if (*admission == Admission::Refused) continue;
    }
    if (of_default == Admission::Refused) return true;
    if (!is_default) {
      const db::TrialId chosen = (*winner)->id;
      winner = simplest(*baseline, **winner);
      if (!winner) return std::unexpected(winner.error());
      if (!*winner) return false;
      if ((*winner)->id != chosen) {
        const auto admission = gate_.admits(**winner);
        if (!admission) return std::unexpected(admission.error());
        if (*admission == Admission::Interrupted) return false;
        if (*admission == Admission::Refused) continue;
      }
    }
    const auto complete = measure_again(*baseline, **winner);
    if (!complete || is_default) return complete;
    const auto admission = gate_.admits_epoch(**winner, *baseline);
    if (!admission) return std::unexpected(admission.error());
    if (*admission == Admission::Interrupted) return false;
    if (*admission == Admission::Admitted) return complete;
  }
  return false;
}

bool Finals::may_choose(int refused) const {
  if (refused == 0) return true;
  if (refused >= kMostRefused) {
    sitting_.observer.note(
        fmt::format("{} of the fastest were refused, and no further one is judged: look at what they share, forbid it "
                    "with a constraint, and start again",
                    refused));
    return false;
  }
  if (time_for({})) return true;
  sitting_.observer.note(fmt::format(
      "the time is over, and no further one is judged after {} that {} refused: what is shown as the best was not "
      "verified; start again with more time",
      refused, refused == 1 ? "was" : "were"));
  return false;
}

db::Expected<bool> Finals::measure_again(const db::StoredTrial& baseline, const db::StoredTrial& best) {
  bool complete = true;
  if (best.id != baseline.id) {
    const auto verified = verify(baseline, best);
    if (!verified) return verified;
    complete = *verified;
  }
  if (sitting_.spec.verify.accuracy_epochs > 0) {
    for (const auto& [trial, who] : {std::pair{&best, "best"}, std::pair{&baseline, "default"}}) {
      const auto trained = accuracy(*trial, who);
      if (!trained) return trained;
      complete = complete && *trained;
    }
  }
  return complete;
}

int Finals::fit_choice(std::vector<const db::StoredTrial*>& finalists, const db::StoredTrial& baseline) const {
  const VerifySettings& verify = sitting_.spec.verify;
  if (!time_) return verify.selection_pairs;
  const Paced best = paced(sitting_.spec, *finalists.front());
  const Paced slower = baseline.trial.parts ? paced(sitting_.spec, baseline) : best;
  const auto spare = time_->end - sitting_.clock.steady() - forecast_finals(verify, slower, best, whole_time());
  // What is left is shared with the simplification.
  const auto pairs =
      static_cast<std::int64_t>(spare / forecast_pair(verify, best, best)) * (verify.simplify ? 2 : 3) / 3;
  const auto challengers = std::clamp<std::int64_t>(pairs / kFewestSelectionPairs, 0, std::ssize(finalists) - 1);
  finalists.resize(static_cast<std::size_t>(challengers) + 1);
  if (challengers == 0) return 0;
  return static_cast<int>(std::min<std::int64_t>(pairs / challengers, verify.selection_pairs));
}

db::Expected<std::optional<db::StoredTrial>> Finals::choose(const db::StoredTrial& baseline) {
  const auto trials = sitting_.store.list_trials({.campaign = sitting_.campaign, .state = db::TrialState::Finished});
  if (!trials) return std::unexpected(trials.error());
  if (sitting_.compare_wanted && !sitting_.wanted.empty()) {
    for (const db::StoredTrial& each : *trials) {
      if (each.trial.configuration == sitting_.wanted.front() && each.trial.outcome == space::Outcome::Ok) return each;
    }
    return std::nullopt;
  }
  const VerifySettings& verify = sitting_.spec.verify;
  std::vector<const db::StoredTrial*> finalists;
  for (const std::size_t i :
       choose_finalists(*trials, static_cast<std::size_t>(verify.finalists), sitting_.spec.run.process_luck)) {
    finalists.push_back(&(*trials)[i]);
  }
  if (finalists.empty()) return std::nullopt;
  const db::StoredTrial& champion = *finalists.front();
  // Whether the default itself is the best is what the comparison with it will say, with more pairs than these.
  std::erase_if(finalists, [&](const db::StoredTrial* each) { return each->id == baseline.id && each != &champion; });
  const int rounds = fit_choice(finalists, baseline);
  if (finalists.size() == 1 || champion.id == baseline.id) return champion;

  std::vector<Contender> contenders = {
      {.ratios = {}, .changes = changes_between(baseline.trial.configuration, champion.trial.configuration).size()}};
  std::vector<Challenger> challengers;
  for (std::size_t i = 1; i < finalists.size(); ++i) {
    auto comparing = Comparing::open(sitting_, champion, *finalists[i], kSelectRole);
    if (!comparing) return std::unexpected(comparing.error());
    if (sitting_.interruption.requested()) return std::nullopt;
    if (*comparing) challengers.push_back({.finalist = i, .comparing = std::move(**comparing)});
  }
  if (challengers.empty()) return champion;
  sitting_.observer.choosing(static_cast<std::int64_t>(challengers.size()) + 1);
  for (int round = 1; round <= rounds; ++round) {
    // A block: each challenger once, in an order of its own, so that no place in it favours one.
    std::mt19937_64 random(sitting_.spec.strategy.seed * 1000 + static_cast<std::uint64_t>(round));
    std::ranges::shuffle(challengers, random);
    for (auto each = challengers.begin(); each != challengers.end();) {
      const auto measured = each->comparing.measure_up_to(round);
      if (!measured) return std::unexpected(measured.error());
      if (sitting_.interruption.requested()) return std::nullopt;
      each = *measured ? std::next(each) : challengers.erase(each);
    }
  }
  std::vector<const db::StoredTrial*> known = {&champion};
  for (const Challenger& each : challengers) {
    auto ratios = each.comparing.ratios();
    if (!ratios) return std::unexpected(ratios.error());
    const db::StoredTrial& trial = *finalists[each.finalist];
    if ((*ratios)[each.comparing.primary_horizon()].empty()) continue;
    known.push_back(&trial);
    contenders.push_back({.ratios = std::move((*ratios)[each.comparing.primary_horizon()]),
                          .changes = changes_between(baseline.trial.configuration, trial.trial.configuration).size()});
  }
  const db::StoredTrial& winner = *known[choose_winner(contenders, verify.margin_percent)];
  sitting_.observer.chosen(winner.trial);
  return winner;
}

db::Expected<std::optional<db::StoredTrial>> Finals::simplest(const db::StoredTrial& baseline,
                                                              const db::StoredTrial& winner) {
  const VerifySettings& verify = sitting_.spec.verify;
  if (!verify.simplify) return winner;
  const auto trials = sitting_.store.list_trials({.campaign = sitting_.campaign, .state = db::TrialState::Finished});
  if (!trials) return std::unexpected(trials.error());
  space::Lattice lattice(sitting_.spec.space);
  search::model::LinearModel model(lattice, search::model::kForReports);
  for (const db::StoredTrial& each : *trials) {
    const auto& estimate = each.trial.estimate;
    const auto point = lattice.point_of(each.trial.configuration);
    if (point && estimate && estimate->value > 0) model.tell(*point, std::log(estimate->value));
  }
  if (model.size() < kFewestForModel) return winner;
  model.fit();
  const auto predicted = [&](const space::Configuration& configuration) {
    const auto point = lattice.point_of(configuration);
    return point ? model.predict(*point).mean : std::numeric_limits<double>::infinity();
  };
  const auto way = simplify(sitting_.spec.space, winner.trial.configuration, baseline.trial.configuration, predicted,
                            verify.margin_percent);
  // The boldest step first; where it is too bold, half of the way.
  for (std::size_t steps = way.size(); steps > 0; steps = steps == way.size() ? steps / 2 : 0) {
    const Paced fast = paced(sitting_.spec, winner);
    const auto reserved =
        forecast_pair(verify, paced(sitting_.spec, baseline), fast) * verify.pairs + forecast_epochs(baseline, winner);
    const auto simpler = forecast_trial(sitting_.spec.run, fast) + forecast_pair(verify, fast, fast) * verify.pairs;
    if (!time_for(simpler + reserved)) return winner;
    sitting_.observer.simplifying(changes_between(winner.trial.configuration, baseline.trial.configuration).size(),
                                  changes_between(way[steps - 1], baseline.trial.configuration).size());
    auto found = as_fast(way[steps - 1], winner);
    if (!found) return std::unexpected(found.error());
    if (sitting_.interruption.requested()) return std::nullopt;
    sitting_.observer.simplified(found->has_value());
    if (*found) return *found;
  }
  return winner;
}

db::Expected<std::optional<db::StoredTrial>> Finals::as_fast(const space::Configuration& simpler,
                                                             const db::StoredTrial& winner) {
  auto trial = extra_trial_(simpler, "the winner with fewer changes");
  if (!trial) return std::unexpected(trial.error());
  if (!*trial || (*trial)->trial.outcome != space::Outcome::Ok || !(*trial)->trial.parts) return std::nullopt;
  auto comparing = Comparing::open(sitting_, winner, **trial, kSimplifyRole);
  if (!comparing) return std::unexpected(comparing.error());
  if (!*comparing) return std::nullopt;
  const auto measured = (*comparing)->measure_up_to(sitting_.spec.verify.pairs);
  if (!measured) return std::unexpected(measured.error());
  if (!*measured) return std::nullopt;
  const auto verdict = (*comparing)->judge(kStatedConfidence, kStatedConfidence);
  if (!verdict) return std::unexpected(verdict.error());
  const double margin = std::log1p(sitting_.spec.verify.margin_percent / 100);
  const bool slower = !*verdict || (*verdict)->verdict == measure::Verdict::Slower || (*verdict)->log_ratio < -margin;
  if (slower) return std::nullopt;
  return std::move(**trial);
}

db::Expected<bool> Finals::verify(const db::StoredTrial& baseline, const db::StoredTrial& candidate) {
  const VerifySettings& verify = sitting_.spec.verify;
  auto opened = Comparing::open(sitting_, baseline, candidate, kVerifyRole);
  if (!opened) return std::unexpected(opened.error());
  if (!*opened) return false;
  Comparing& comparing = **opened;
  const auto training = forecast_epochs(baseline, candidate);
  const auto forecast = forecast_pair(verify, paced(sitting_.spec, baseline), paced(sitting_.spec, candidate));
  constexpr double kError = 1 - kStatedConfidence;
  const auto plan = measure::plan_looks(verify.pairs, std::max(verify.pairs, verify.most_pairs), kError);
  bool judged = false;
  for (const measure::Look& look : plan) {
    // An earlier sitting went past it: another look there, with more pairs than it was planned for, is one too many.
    if (look.pairs < comparing.pairs() && look.pairs < plan.back().pairs) continue;
    const auto more = std::max<std::int64_t>(0, look.pairs - comparing.pairs());
    if (look.pairs > verify.pairs && more > 0 &&
        !time_for(std::max(comparing.pair_time(), forecast) * more + training)) {
      sitting_.observer.note(fmt::format("undecided after {} pairs, and {} more do not fit into the time that is left",
                                         comparing.pairs(), more));
      if (judged) break;
      const double confidence = measure::confidence_after(comparing.pairs(), plan, kError);
      if (auto last = comparing.judge(confidence, kStatedConfidence); !last) return std::unexpected(last.error());
      break;
    }
    const auto measured = comparing.measure_up_to(look.pairs);
    if (!measured || !*measured) return measured;
    const auto verdict = comparing.judge(look.confidence, kStatedConfidence);
    if (!verdict) return std::unexpected(verdict.error());
    judged = true;
    if (*verdict && (*verdict)->verdict != measure::Verdict::Undecided) break;
  }
  return true;
}

db::Expected<bool> Finals::accuracy(const db::StoredTrial& trial, const std::string& who) {
  const std::int64_t epochs = sitting_.spec.verify.accuracy_epochs;
  const auto detail = sitting_.store.load_trial(trial.id);
  if (!detail) return std::unexpected(detail.error());
  for (const db::StoredRun& stored : detail->runs) {
    if (trained_for_accuracy(stored.record.run, epochs)) return true;
  }
  if (sitting_.interruption.requested()) return false;
  const auto prepared = sitting_.prepare(trial.trial.configuration);
  if (!prepared) {
    if (auto no_room = no_room_for(prepared.error())) return std::unexpected(*std::move(no_room));
    if (!sitting_.interruption.requested()) sitting_.observer.note(fmt::format("{}: {}", who, prepared.error().reason));
    return false;
  }
  const auto slot = sitting_.take_slot();
  if (!slot) return false;
  sitting_.observer.training(who, epochs);
  // Three times what it should take: the deadline is for hangs, not for a busy minute.
  const double expected = space::total_time(*trial.trial.parts, static_cast<double>(epochs));
  const auto deadline = std::max<std::chrono::nanoseconds>(
      sitting_.spec.run.deadline, std::chrono::nanoseconds(static_cast<std::int64_t>(3e9 * expected + 30e9)));
  const RunOrder order{.purpose = space::Purpose::Gate,
                       .epochs = epochs,
                       .accuracy = true,
                       .seed = sitting_.spec.run.seed,
                       .deadline = deadline};
  const auto plan = [&]() -> db::Expected<measure::RunPlan> {
    return sitting_.executor.plan(trial.trial.configuration, *prepared, order);
  };
  const auto keep = [&](const space::Run& run) {
    return sitting_.store.add_run(trial.id, {.run = run, .fingerprint = sitting_.fingerprint.identity()});
  };
  const auto run = sitting_.run(plan, keep);
  if (!run) return std::unexpected(run.error());
  if (auto kept = keep(*run); !kept) return std::unexpected(kept.error());
  if (run->outcome == space::Outcome::Killed) return false;
  sitting_.observer.trained(who, *run);
  return run->outcome == space::Outcome::Ok;
}

}  // namespace nocturne::tuner
