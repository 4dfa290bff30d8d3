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

bool LearningGate::concerns(const db::StoredTrial& trial) const {
  return std::ranges::any_of(levers_of(session_), [&](const auto& each) {
    return is_judged(trial.trial.configuration, each.first, each.second);
  });
}

std::optional<LearningGate::Recording> LearningGate::record(const space::Configuration& configuration,
                                                            RunOrder::Learning learning, std::uint64_t seed) {
  const auto prepared = session_.prepare(configuration);
  if (!prepared) {
    if (prepared.error().outcome == space::Outcome::Killed || session_.interruption.requested()) return std::nullopt;
    return Recording{.record = std::unexpected("it cannot be prepared: " + prepared.error().reason), .run = {}};
  }
  const GateOrder order{.configuration = configuration,
                        .run = {.purpose = space::Purpose::Gate,
                                .steps = static_cast<std::int64_t>(measure::kLearningSteps),
                                .seed = seed,
                                .deadline = {},
                                .gate = {},
                                .initial = {},
                                .learning = learning}};
  auto answer = carry_out(order, *prepared, session_.workplace(), [](const db::RunRecord&) {});
  if (answer.end != OrderEnd::Finished) return std::nullopt;
  space::Run& run = answer.run.run;
  auto record = measure::read_learning(measure::read_run_json(run.folder, kLearningFile, kLargestRecordBytes));
  if (run.outcome != space::Outcome::Ok)
    record = std::unexpected(fmt::format("its run ended as {}: {}", space::to_text(run.outcome), run.reason));
  return Recording{.record = std::move(record), .run = std::move(run)};
}

const LearningGate::References* LearningGate::references(const space::Configuration& configuration, bool longer) {
  References& known = references_[configuration.identity()];
  const db::TrialId owner = session_.store.load_numbered_trial(session_.campaign, 0).id;
  const auto add = [&](RunOrder::Learning learning, std::uint64_t seed, std::vector<measure::LearningRecord>& records) {
    auto made = record(configuration, learning, seed);
    if (!made) return false;
    session_.store.add_run(owner, {.run = made->run, .fingerprint = session_.fingerprint.identity()});
    if (made->record)
      records.push_back(*std::move(made->record));
    else
      known.why_none = "the script unchanged: " + made->record.error();
    return true;
  };
  while (known.why_none.empty() && known.starts.size() < measure::kReferenceStarts)
    if (!add(RunOrder::Learning::Start, kFirstSeed, known.starts)) return nullptr;
  while (longer && known.why_none.empty() && known.longer.size() < measure::kLearningReferences)
    if (!add(RunOrder::Learning::Longer, kFirstSeed + 1 + known.longer.size(), known.longer)) return nullptr;
  return &known;
}

bool LearningGate::time_for_longer(const db::StoredTrial& trial, std::chrono::nanoseconds after) const {
  if (!time_ || !trial.trial.parts) return true;
  return time_->has_time_for(forecast_learning(*trial.trial.parts) + after, session_.clock.steady());
}

std::optional<JudgedLearning> LearningGate::judge(const db::StoredTrial& trial, std::chrono::nanoseconds after) {
  if (const auto known = judged_learning(session_.store.load_trial(trial.id))) return known;
  const space::Configuration& configuration = trial.trial.configuration;
  const bool longer = time_for_longer(trial, after);
  session_.observer.note(fmt::format(
      "does trial {} learn as the script does unchanged? Same random streams for a "
      "start, others for {}",
      trial.trial.number, longer ? fmt::format("{} steps", measure::kLearningSteps) : "nothing more: no time"));
  const References* references = this->references(without_levers(session_, configuration), longer);
  if (references == nullptr) return std::nullopt;
  if (!references->why_none.empty()) return JudgedLearning{Learning::NotJudged, references->why_none};

  auto start = record(configuration, RunOrder::Learning::Start, kFirstSeed);
  if (!start) return std::nullopt;
  const auto of_start = start->record
                            ? measure::judge_start(references->starts.front(), std::span(references->starts).subspan(1),
                                                   *start->record, arithmetic_of(session_, configuration))
                            : measure::LearningJudgement{Learning::NotJudged, start->record.error()};
  measure::LearningJudgement of_longer{Learning::NotJudged, "no time for a longer run"};
  space::Run last = start->run;
  if (longer && of_start.learning != Learning::Other) {
    session_.store.add_run(trial.id, {.run = start->run, .fingerprint = session_.fingerprint.identity()});
    auto trained = record(configuration, RunOrder::Learning::Longer, kFirstSeed);
    if (!trained) return std::nullopt;
    of_longer = trained->record ? measure::judge_longer_run(references->longer, *trained->record)
                                : measure::LearningJudgement{Learning::NotJudged, trained->record.error()};
    last = std::move(trained->run);
  }
  const JudgedLearning judged = measure::joined(of_start, of_longer);
  store_judgement(judged, last.ready);
  session_.store.add_run(trial.id, {.run = std::move(last), .fingerprint = session_.fingerprint.identity()});
  return judged;
}

}  // namespace nocturne::tuner
