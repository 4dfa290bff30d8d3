#include "tuner/campaign/curves/learning_curves.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tuner/campaign/pacing.hpp"
#include "tuner/campaign/trial_runner.hpp"

namespace nocturne::tuner {
namespace {

/// Of a campaign whose trials are counted, so many curves at least.
constexpr std::int64_t kFewestCurves = 2;

std::string values_text(const space::Configuration& values) {
  std::string text;
  for (const auto& [name, value] : values.values())
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, space::to_text(value));
  return text.empty() ? "the default" : text;
}

}  // namespace

LearningCurves::LearningCurves(const Session& session, MeasureTrial measure_trial,
                               std::optional<std::chrono::nanoseconds> whole)
    : session_(session), measure_trial_(std::move(measure_trial)), whole_(whole) {
  read();
}

void LearningCurves::read() {
  const CampaignSpec& spec = session_.spec;
  known_ = stored_curves(session_.store, session_.campaign, spec.space, spec.worker, spec.workload,
                         *spec.objective.target, spec.run.process_sd);
}

std::optional<measure::NextCurve> LearningCurves::next() const {
  const space::AccuracyTarget& target = *session_.spec.objective.target;
  if (known_.accuracy) return measure::next_curve(known_.entrants, curve_policy(target));
  if (known_.entrants.front().failed) return std::nullopt;
  const auto epochs = static_cast<std::int64_t>(std::ceil(target.default_epochs));
  const measure::EpochTimes& times = known_.standings.front().times;
  return measure::NextCurve{
      .entrant = 0, .most_epochs = epochs, .seconds = times.startup + static_cast<double>(epochs) * times.epoch};
}

bool LearningCurves::is_worth_its_time(const measure::NextCurve& next) const {
  if (!known_.accuracy || (next.entrant == 0 && known_.entrants.front().crossings.empty())) return true;
  const Budget& budget = session_.spec.budget;
  if (budget.trials && known_.curves >= std::max(kFewestCurves, static_cast<std::int64_t>(
                                                                    kCurveShare * static_cast<double>(*budget.trials))))
    return false;
  if (!whole_) return true;
  const double share = kCurveShare * std::chrono::duration<double>(*whole_).count();
  return kEvaluations * next.seconds <= share - std::chrono::duration<double>(known_.spent).count();
}

LearningCurves::Drawn LearningCurves::draw(const measure::NextCurve& next) {
  const LearningSet& set = known_.sets[next.entrant];
  const auto trial = measure_trial_(set.configuration, fmt::format("what it learns: {}", values_text(set.values)));
  if (!trial) return Drawn::Interrupted;
  if (trial->trial.outcome != space::Outcome::Ok || !trial->trial.parts) return Drawn::Failed;
  const auto prepared = session_.prepare(set.configuration);
  if (!prepared) return session_.interruption.requested() ? Drawn::Interrupted : Drawn::Failed;
  const double epochs = static_cast<double>(next.most_epochs);
  const double steps = steps_of_epoch(session_.spec.worker, session_.spec.workload, set.configuration).value_or(1);
  const double expected = space::total_time(space::per_training(*trial->trial.parts, steps, epochs), 1);
  // The k-th curve of each set has the same seed; where the target is still to be found, all curves are the default's.
  const std::int64_t curve = known_.accuracy ? known_.drawn[next.entrant] : known_.curves;
  session_.observer.note(fmt::format("learning curve {}: {}, {} epochs at most", known_.curves + 1,
                                     values_text(set.values), next.most_epochs));
  // The deadline is for hangs: evaluations take their time, too.
  const GateOrder order{.configuration = set.configuration,
                        .run = {.purpose = space::Purpose::Gate,
                                .epochs = next.most_epochs,
                                .seed = session_.spec.run.seed + static_cast<std::uint64_t>(curve),
                                .deadline = std::max<std::chrono::nanoseconds>(
                                    session_.spec.run.deadline, forecast_of(4 * expected) + std::chrono::minutes(1)),
                                .curve = curve_request(*session_.spec.objective.target, known_.accuracy)}};
  const auto answer = run_here(session_, order, *prepared, trial->id);
  if (answer.end != OrderEnd::Finished) return Drawn::Interrupted;
  if (answer.run.run.outcome == space::Outcome::Ok && !answer.run.run.curve.empty()) return Drawn::Stored;
  session_.observer.note(fmt::format("{}: {}: {}", values_text(set.values), space::to_text(answer.run.run.outcome),
                                     answer.run.run.reason));
  return Drawn::Failed;
}

bool LearningCurves::run() {
  std::vector<std::size_t> failed;  // of this session, beyond what is stored of them
  for (;;) {
    for (const std::size_t each : failed) known_.entrants[each].failed = true;
    const auto wanted = next();
    if (!wanted || !is_worth_its_time(*wanted)) break;
    if (session_.interruption.requested()) return false;
    const Drawn drawn = draw(*wanted);
    if (drawn == Drawn::Interrupted) return false;
    if (drawn == Drawn::Failed) failed.push_back(wanted->entrant);
    read();
  }
  say_what_is_known();
  return true;
}

bool LearningCurves::draw_for(const space::Configuration& configuration, std::int64_t most_epochs) {
  const std::size_t set = known_.set_of(configuration);
  if (known_.standings[set].own || !known_.accuracy) return true;
  const Drawn drawn = draw({.entrant = set, .most_epochs = most_epochs, .seconds = 0});
  read();
  return drawn == Drawn::Stored;
}

std::chrono::nanoseconds LearningCurves::forecast_for(const space::Configuration& configuration,
                                                      std::int64_t most_epochs) const {
  const measure::LearningStanding& standing = known_.standing_of(configuration);
  const double epochs = std::min(static_cast<double>(most_epochs), standing.epochs.mean);
  return forecast_of(kEvaluations * (standing.times.startup + epochs * standing.times.epoch));
}

void LearningCurves::say_what_is_known() const {
  if (!known_.accuracy || known_.curves == 0) return;
  const measure::EpochsToTarget& usual = known_.standings.front().epochs;
  const std::string sentence = fmt::format(
      "{} learning curve{} took {:.0f} s: the default needs {:.2g} epochs ({:.2g} to {:.2g}) until {:.2f} % of the "
      "test set are right",
      known_.curves, known_.curves == 1 ? "" : "s", std::chrono::duration<double>(known_.spent).count(), usual.mean,
      usual.low, usual.high, 100 * *known_.accuracy);
  session_.say(db::Level::Info, sentence);
}

}  // namespace nocturne::tuner
