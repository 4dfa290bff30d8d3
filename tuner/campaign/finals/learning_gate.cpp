#include "tuner/campaign/finals/learning_gate.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "measure/supervisor/run_folder.hpp"
#include "tuner/executor/carry_out.hpp"

namespace nocturne::tuner {
namespace {

using measure::Learning;

constexpr std::uint64_t kFirstSeed = 1'000'000;  // far from those of trials
constexpr std::size_t kLargestRecordBytes = 16 << 20;

const std::map<std::string, measure::Lever>& levers_of(const Session& session) {
  return session.spec.worker.own.levers;
}

/// What it does to learning is to be judged. What is learnt is the user's to allow.
bool is_judged(const space::Configuration& configuration, const std::string& name, const measure::Lever& lever) {
  return lever.changes != measure::kChangesLearning && lever.is_pulled(configuration, name);
}

space::Configuration without_levers(const Session& session, space::Configuration configuration) {
  for (const auto& [name, lever] : levers_of(session))
    if (is_judged(configuration, name, lever)) configuration.set(name, space::Value(std::string(measure::kAsScript)));
  return configuration;
}

measure::Arithmetic arithmetic_of(const Session& session, const space::Configuration& configuration) {
  for (const auto& [name, lever] : levers_of(session))
    if (lever.changes.contains("precision") && is_judged(configuration, name, lever))
      return measure::Arithmetic::Precision;
  return measure::Arithmetic::Rounding;
}

}  // namespace

// The module ends a start itself, behind its last step.
const LearningGate::Way LearningGate::kStart{.learning = RunOrder::Learning::Start, .steps = measure::kLearningSteps};

bool LearningGate::concerns(const db::StoredTrial& trial) const {
  return std::ranges::any_of(levers_of(session_), [&](const auto& each) {
    return is_judged(trial.trial.configuration, each.first, each.second);
  });
}

std::optional<LearningGate::Recording> LearningGate::record(const space::Configuration& configuration, const Way& way,
                                                            std::uint64_t seed) {
  const auto prepared = session_.prepare(configuration);
  if (!prepared) {
    if (prepared.error().outcome == space::Outcome::Killed || session_.interruption.requested()) return std::nullopt;
    return Recording{.record = std::unexpected("it cannot be prepared: " + prepared.error().reason)};
  }
  const GateOrder order{
      .configuration = configuration,
      .run = {.purpose = space::Purpose::Gate, .steps = way.steps, .seed = seed, .learning = way.learning}};
  auto answer = carry_out(order, *prepared, session_.workplace(), [](const db::RunRecord&) {});
  if (answer.end != OrderEnd::Finished) return std::nullopt;
  space::Run& run = answer.run.run;
  auto record = measure::read_learning(measure::read_run_json(run.folder, kLearningFile, kLargestRecordBytes));
  if (run.outcome != space::Outcome::Ok)
    record = std::unexpected(fmt::format("its run ended as {}: {}", space::to_text(run.outcome), run.reason));
  return Recording{.record = std::move(record), .run = std::move(run)};
}

const LearningGate::References* LearningGate::references(const space::Configuration& configuration,
                                                         std::int64_t longer_steps, std::size_t longer) {
  References& known = references_[configuration.identity()];
  const db::TrialId owner = session_.store.load_numbered_trial(session_.campaign, 0).id;
  const auto add = [&](const Way& way, std::uint64_t seed, std::vector<measure::LearningRecord>& records) {
    auto made = record(configuration, way, seed);
    if (!made) return false;
    if (!made->run.id.empty())  // else there was none: it could not be prepared
      session_.store.add_run(owner, {.run = made->run, .fingerprint = session_.fingerprint.identity()});
    if (made->record)
      records.push_back(*std::move(made->record));
    else
      known.why_none = "the script unchanged: " + made->record.error();
    return true;
  };
  while (known.why_none.empty() && known.starts.size() < measure::kReferenceStarts)
    if (!add(kStart, kFirstSeed, known.starts)) return nullptr;
  const Way way{.learning = RunOrder::Learning::Longer, .steps = longer_steps};
  while (longer_steps > 0 && known.why_none.empty() && known.longer.size() < longer)
    if (!add(way, kFirstSeed + 1 + known.longer.size(), known.longer)) return nullptr;
  return &known;
}

std::optional<measure::LearningJudgement> LearningGate::judge_longer(const space::Configuration& unchanged,
                                                                     std::int64_t longer_steps,
                                                                     const Recording& trained,
                                                                     std::chrono::nanoseconds after) {
  if (!trained.record) return measure::LearningJudgement{Learning::NotJudged, trained.record.error()};
  constexpr std::int64_t kMore = measure::kMostLearningReferences - measure::kLearningReferences;
  for (const std::size_t count : {measure::kLearningReferences, measure::kMostLearningReferences}) {
    const References* known = references(unchanged, longer_steps, count);
    if (known == nullptr) return std::nullopt;
    auto judged = measure::judge_longer_run(known->longer, *trained.record);
    const bool is_last = known->longer.size() >= measure::kMostLearningReferences ||
                         (time_ && !time_->has_time_for(trained.run.wall * kMore + after, session_.clock.steady()));
    if (judged.learning != Learning::Other || is_last) return judged;
    session_.observer.note(fmt::format("it lies outside of what {} of the script unchanged showed: {} more are made",
                                       known->longer.size(), kMore));
  }
  return measure::LearningJudgement{Learning::NotJudged, "the script unchanged: it could not be repeated"};
}

std::int64_t LearningGate::longer_steps(const db::StoredTrial& trial, std::chrono::nanoseconds after) const {
  const auto baseline = session_.store.load_numbered_trial(session_.campaign, 0);
  if (!time_ || !trial.trial.parts || !baseline.trial.parts) return measure::kLearningSteps;
  // The references train the script unchanged, with the trial's batch.
  space::Parts reference = *baseline.trial.parts;
  reference.steady_step *= std::max(1.0, reference.steps_per_epoch / trial.trial.parts->steps_per_epoch);
  const std::int64_t steps = learning_steps(reference, time_->whole);
  const bool fits = time_->has_time_for(forecast_learning(reference, steps) + after, session_.clock.steady());
  return fits ? steps : 0;
}

std::optional<JudgedLearning> LearningGate::judge(const db::StoredTrial& trial, std::chrono::nanoseconds after) {
  if (const auto known = judged_learning(session_.store.load_trial(trial.id))) return known;
  const space::Configuration& configuration = trial.trial.configuration;
  const std::int64_t longer = longer_steps(trial, after);
  session_.observer.note(
      fmt::format("does trial {} learn as the script does unchanged? Same random streams for a "
                  "start, others for {}",
                  trial.trial.number, longer > 0 ? fmt::format("{} steps", longer) : "nothing more: no time"));
  const space::Configuration unchanged = without_levers(session_, configuration);
  const References* references = this->references(unchanged, longer);
  if (references == nullptr) return std::nullopt;
  if (!references->why_none.empty()) return JudgedLearning{Learning::NotJudged, references->why_none};

  auto start = record(configuration, kStart, kFirstSeed);
  if (!start) return std::nullopt;
  const auto of_start = start->record
                            ? measure::judge_start(references->starts.front(), std::span(references->starts).subspan(1),
                                                   *start->record, arithmetic_of(session_, configuration))
                            : measure::LearningJudgement{Learning::NotJudged, start->record.error()};
  measure::LearningJudgement of_longer{Learning::NotJudged, "no time for a longer run"};
  space::Run last = start->run;
  if (longer > 0 && of_start.learning != Learning::Other) {
    session_.store.add_run(trial.id, {.run = start->run, .fingerprint = session_.fingerprint.identity()});
    auto trained = record(configuration, {.learning = RunOrder::Learning::Longer, .steps = longer}, kFirstSeed);
    if (!trained) return std::nullopt;
    auto judged = judge_longer(unchanged, longer, *trained, after);
    if (!judged) return std::nullopt;
    of_longer = *std::move(judged);
    last = std::move(trained->run);
  }
  const JudgedLearning judged = measure::joined(of_start, of_longer);
  store_judgement(judged, last.ready);
  session_.store.add_run(trial.id, {.run = std::move(last), .fingerprint = session_.fingerprint.identity()});
  return judged;
}

}  // namespace nocturne::tuner
