#include "tuner/campaign/finals/finalist_gate.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "measure/comparison/statistics.hpp"
#include "measure/gate/loss_band.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/campaign/trial_runner.hpp"

namespace nocturne::tuner {
namespace {

/// As the campaign file allows; batch sizes are as far apart from each other.
constexpr std::int64_t kMostSeeds = 100;
/// Far from the seeds of trials; one number says batch size and place, by which a stored run is found again.
constexpr std::uint64_t kFirstReferenceSeed = 1'000'000'000;

std::uint64_t reference_seed(std::int64_t batch, std::int64_t index) {
  return kFirstReferenceSeed + 1000 * static_cast<std::uint64_t>(batch) + static_cast<std::uint64_t>(index);
}

space::Configuration reference_configuration(std::int64_t batch) {
  space::Configuration configuration;
  configuration.set("batch", space::Value(batch));
  return configuration;
}

/// Its rule for the learning rate, where that is one; null: the rate is the optimizer's own.
const space::Value* learning_rate_rule(const db::StoredTrial& trial) {
  const space::Value* rule = trial.trial.configuration.find("learning_rate_rule");
  return rule != nullptr && space::to_text(*rule) != "none" ? rule : nullptr;
}

/// The reference's settings are no matter of the campaign, what it is taught is.
bool teaches_the_same(const nlohmann::json& stored, const CampaignSpec& spec) {
  const CampaignSections sections = sections_of(stored);
  return sections.workload == spec.workload && sections.run.steps_per_sample == spec.run.steps_per_sample;
}

bool is_interruption(const PreparationFailure& failure, const Session& session) {
  return failure.outcome == space::Outcome::Killed || session.interruption.requested();
}

/// A worker that knows the gate says so before its first step.
bool knows_gate(const db::TrialDetail& detail) {
  return std::ranges::any_of(detail.runs, [](const db::StoredRun& stored) {
    const nlohmann::json& ready = stored.record.run.ready;
    const auto said = ready.find("gate");
    return said != ready.end() && said->is_boolean() && said->get<bool>();
  });
}

/// The last that holds; null: none.
const space::Run* find_run(const db::TrialDetail& detail, const std::function<bool(const space::Run&)>& holds) {
  const space::Run* found = nullptr;
  for (const db::StoredRun& stored : detail.runs)
    if (holds(stored.record.run)) found = &stored.record.run;
  return found;
}

}  // namespace

Admission FinalistGate::let_through(const db::StoredTrial& trial, const std::string& why) {
  const std::string sentence =
      fmt::format("whether trial {} trains rightly is not judged: {}", trial.trial.number, why);
  if (said_.insert(why).second) session_.observer.note(sentence);
  session_.log(db::Level::Warning, sentence);
  return Admission::NotJudged;
}

Admission FinalistGate::refuse(const db::StoredTrial& trial, const std::string& why) {
  const db::TrialResult result{.outcome = space::Outcome::Wrong, .reason = "trains wrongly: " + why};
  // In the database, so that neither the search nor a later session takes it for the best again.
  session_.store.update_trial(trial.id, result);
  const std::string sentence = fmt::format("trial {} trains wrongly: {}", trial.trial.number, why);
  session_.say(db::Level::Warning, sentence);
  return Admission::Refused;
}

std::optional<GateAnswer> FinalistGate::train(GateOrder order, const PreparedWorker& prepared, db::TrialId owner) {
  order.run.purpose = space::Purpose::Gate;
  auto answer = run_here(session_, order, prepared, owner);
  if (answer.end != OrderEnd::Finished) return std::nullopt;
  return answer;
}

const FinalistGate::Reference* FinalistGate::exact_reference(const db::StoredTrial& trial, std::int64_t batch,
                                                             std::int64_t steps) {
  space::Configuration configuration = reference_configuration(batch);
  if (const space::Value* rule = learning_rate_rule(trial)) configuration.set("learning_rate_rule", *rule);
  if (const auto known = references_.find(configuration.identity()); known != references_.end()) return &known->second;
  const auto owner = session_.store.load_numbered_trial(session_.campaign, 0);
  Reference made;
  const auto prepared = session_.prepare_reference(configuration);
  if (!prepared) {
    if (is_interruption(prepared.error(), session_)) return nullptr;
    made.why_none = "the reference cannot be prepared: " + prepared.error().reason;
  } else {
    const std::string name = "initial-state";
    auto answer = train({.configuration = configuration,
                         .reference = true,
                         .run = {.steps = steps,
                                 .seed = session_.spec.run.seed,
                                 .gate = protocol::GateRequest{.steps = steps, .write = name}}},
                        *prepared, owner.id);
    if (!answer) return nullptr;
    made.run = std::move(answer->run.run);
    if (made.run.outcome != space::Outcome::Ok)
      made.why_none = fmt::format("the reference ended as {}: {}", space::to_text(made.run.outcome), made.run.reason);
    made.initial = (std::filesystem::path(made.run.folder) / name).string();
  }
  return &references_.emplace(configuration.identity(), std::move(made)).first->second;
}

Admission FinalistGate::admits_changed(const db::StoredTrial& trial, std::chrono::nanoseconds after) {
  if (!session_.spec.verify.gate.learning)
    return let_through(trial, "it is a command of your own; compare what both learn before you deploy the best");
  if (!learning_.concerns(trial)) return Admission::Admitted;
  const auto judged = learning_.judge(trial, after);
  if (!judged) return Admission::Interrupted;
  if (judged->learning == measure::Learning::Other) return refuse(trial, judged->sentence);
  if (judged->learning == measure::Learning::NotJudged) return let_through(trial, judged->sentence);
  session_.observer.note(fmt::format("trial {} learns as the script does: {}", trial.trial.number, judged->sentence));
  session_.log(db::Level::Info,
               fmt::format("trial {} learns as the script does: {}", trial.trial.number, judged->sentence));
  return Admission::Admitted;
}

Admission FinalistGate::admits(const db::StoredTrial& trial, std::chrono::nanoseconds after) {
  const GateSettings& settings = session_.spec.verify.gate;
  if (!session_.spec.worker.own.empty()) return admits_changed(trial, after);
  if (!settings.on) return Admission::Admitted;
  const auto detail = session_.store.load_trial(trial.id);
  if (!knows_gate(detail)) return let_through(trial, "its worker does not know the gate");
  const auto prepared = session_.prepare(trial.trial.configuration);
  if (!prepared) {
    if (is_interruption(prepared.error(), session_)) return Admission::Interrupted;
    return let_through(trial, "it cannot be prepared again: " + prepared.error().reason);
  }
  // No more steps than an epoch has: the initial state holds the batches of one.
  const auto epoch = static_cast<std::int64_t>(std::ceil(measure::steps_per_epoch(prepared->schedule)));
  const std::int64_t steps = std::clamp<std::int64_t>(epoch, 1, settings.steps);
  const auto reference = exact_reference(trial, prepared->schedule.batch, steps);
  if (reference == nullptr) return Admission::Interrupted;
  if (!reference->why_none.empty()) return let_through(trial, reference->why_none);

  const auto answer = train({.configuration = trial.trial.configuration,
                             .run = {.steps = steps,
                                     .seed = session_.spec.run.seed,
                                     .gate = protocol::GateRequest{.steps = steps},
                                     .initial = reference->initial},
                             .against = reference->run},
                            *prepared, trial.id);
  if (!answer) return Admission::Interrupted;
  const space::Run& run = answer->run.run;
  // The gate trains without dropout and from the reference's own weights, so that only wrong arithmetic is left as a
  // reason.
  if (run.outcome == space::Outcome::Diverged) return refuse(trial, "without dropout, " + run.reason);
  // A crash or a full disk says nothing about what it computes.
  if (run.outcome != space::Outcome::Ok)
    return let_through(trial, fmt::format("its run ended as {}: {}", space::to_text(run.outcome), run.reason));
  if (!answer->verdict) return let_through(trial, answer->why_none);
  if (!answer->verdict->agrees) return refuse(trial, answer->verdict->sentence);
  session_.log(db::Level::Info,
               fmt::format("trial {} agrees with the reference in {} steps ({}); nearest to its tolerance: {}",
                           trial.trial.number, steps, trial.trial.configuration.text_of("precision", "f32"),
                           answer->verdict->sentence));
  return Admission::Admitted;
}

std::int64_t FinalistGate::seeds_wanted(const db::StoredTrial& baseline) const {
  const GateSettings& settings = session_.spec.verify.gate;
  if (settings.seeds) return *settings.seeds;
  if (!time_ || !baseline.trial.parts) return 0;
  const std::int64_t seeds = band_seeds(*baseline.trial.parts, time_->whole);
  const std::chrono::duration<double> left = time_->end - session_.clock.steady();
  const auto fitting = static_cast<std::int64_t>(
      std::clamp(left.count() / space::total_time(*baseline.trial.parts, 1), 0.0, static_cast<double>(seeds)));
  return fitting < static_cast<std::int64_t>(measure::kFewestReferences) ? 0 : fitting;
}

bool FinalistGate::is_time_for_epoch(const db::StoredTrial& baseline) const {
  return !time_ ||
         time_->has_time_for(forecast_of(space::total_time(*baseline.trial.parts, 1)), session_.clock.steady());
}

std::map<std::uint64_t, space::Run> FinalistGate::known_epochs(std::int64_t batch, std::int64_t seeds,
                                                               const std::string& artifact) const {
  const auto stored =
      session_.store.gate_runs(static_cast<std::int64_t>(reference_seed(batch, 0)), std::min(seeds, kMostSeeds));
  std::map<std::uint64_t, space::Run> known;
  for (const db::CampaignRun& each : stored) {
    const space::Run& run = each.stored.record.run;
    // A reference built otherwise is another reference.
    if (run.epochs.size() != 1 || run.artifact != artifact || !teaches_the_same(each.spec, session_.spec)) continue;
    known.insert_or_assign(static_cast<std::uint64_t>(run.seed), run);  // the latest
  }
  return known;
}

std::optional<std::vector<space::Run>> FinalistGate::reference_epochs(const db::StoredTrial& trial,
                                                                      const db::StoredTrial& baseline) {
  std::vector<space::Run> runs;
  const auto no_band = [&](const std::string& why) {
    session_.log(db::Level::Info, fmt::format("the loss curve of trial {} is not compared with the reference's: {}",
                                              trial.trial.number, why));
    return std::optional<std::vector<space::Run>>(std::in_place);
  };
  using Epochs = std::optional<std::vector<space::Run>>;
  const auto unprepared = [&](const PreparationFailure& failure) -> Epochs {
    if (is_interruption(failure, session_)) return Epochs();
    return no_band(failure.reason);
  };
  const std::int64_t wanted = seeds_wanted(baseline);
  if (session_.spec.verify.gate.seeds == 0) return no_band("that is not wanted (verify.gate.seeds)");
  if (learning_rate_rule(trial) != nullptr)
    return no_band("the reference's epochs are those of the optimizer's own rate");
  const auto scheduled = session_.prepare(trial.trial.configuration);
  if (!scheduled) return unprepared(scheduled.error());
  const std::int64_t batch = scheduled->schedule.batch;
  const space::Configuration configuration = reference_configuration(batch);
  const auto prepared = session_.prepare_reference(configuration);
  if (!prepared) return unprepared(prepared.error());
  // What an earlier campaign of this workload trained costs nothing.
  const auto known = known_epochs(batch, std::max(wanted, kBandSeeds), prepared->artifact);
  if (wanted == 0 && known.size() < measure::kFewestReferences)
    return no_band("no time is kept for its epochs (verify.gate.seeds)");
  // The reference may be many times slower than what was found; the deadline is for hangs.
  const double slower = std::max(space::total_time(*baseline.trial.parts, 1), space::total_time(*trial.trial.parts, 1));
  const auto deadline = std::max<std::chrono::nanoseconds>(
      session_.spec.run.deadline, std::chrono::nanoseconds(static_cast<std::int64_t>(10e9 * slower + 60e9)));
  bool told = false;
  for (std::int64_t i = 0; i < std::max(wanted, kBandSeeds); ++i) {
    const std::uint64_t seed = reference_seed(batch, i);
    if (const auto found = known.find(seed); found != known.end()) {
      runs.push_back(found->second);
      continue;
    }
    if (i >= wanted || !is_time_for_epoch(baseline)) continue;
    if (!std::exchange(told, true)) {
      session_.observer.note(
          fmt::format("the reference trains an epoch of {} seeds at batch {}: the band for the losses of trial {}",
                      wanted - std::ssize(runs), batch, trial.trial.number));
    }
    auto answer = train(
        {.configuration = configuration, .reference = true, .run = {.epochs = 1, .seed = seed, .deadline = deadline}},
        *prepared, baseline.id);
    if (!answer) return std::nullopt;
    if (answer->run.run.outcome == space::Outcome::Ok) runs.push_back(std::move(answer->run.run));
  }
  return runs;
}

Admission FinalistGate::admits_epoch(const db::StoredTrial& trial, const db::StoredTrial& baseline) {
  const VerifySettings& verify = session_.spec.verify;
  if (!verify.gate.on || verify.accuracy_epochs == 0) return Admission::Admitted;
  if (session_.spec.workload.data.starts_with("synthetic"))
    return let_through(trial, "synthetic data teach nothing, so that neither accuracy nor losses say anything");
  const auto detail = session_.store.load_trial(trial.id);
  const auto is_epoch = [&](const space::Run& run) { return trained_for_accuracy(run, verify.accuracy_epochs); };
  const space::Run* epoch = find_run(detail, is_epoch);
  if (epoch == nullptr) {
    const space::Run* diverged = find_run(detail, [](const space::Run& run) {
      return run.purpose == space::Purpose::Gate && run.outcome == space::Outcome::Diverged;
    });
    if (diverged != nullptr) return refuse(trial, "in the epoch for its accuracy " + diverged->reason);
    return Admission::Admitted;
  }
  const auto default_detail = session_.store.load_trial(baseline.id);
  if (const space::Run* of_default = find_run(default_detail, is_epoch)) {
    const auto difference = measure::compare_accuracy(*of_default->accuracy, *epoch->accuracy,
                                                      {.margin_points = verify.gate.accuracy_margin});
    // Accuracy first: its epochs are there already, those of the reference may be to be trained.
    if (difference.inferior) return refuse(trial, difference.sentence);
    session_.log(db::Level::Info,
                 fmt::format("trial {} has learnt enough: {}", trial.trial.number, difference.sentence));
  }
  const auto references = reference_epochs(trial, baseline);
  if (!references) return Admission::Interrupted;
  if (references->empty()) return Admission::Admitted;
  const auto judged = measure::judge_losses(*references, *epoch);
  if (!judged) return let_through(trial, judged.error());
  if (!judged->inside) return refuse(trial, "its losses leave the band of the reference: " + judged->sentence);
  session_.log(db::Level::Info, fmt::format("trial {} learns within the band of the reference; nearest to its edge: {}",
                                            trial.trial.number, judged->sentence));
  return Admission::Admitted;
}

}  // namespace nocturne::tuner
