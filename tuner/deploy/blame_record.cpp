#include "tuner/deploy/blame_record.hpp"

#include <algorithm>
#include <utility>

#include "space/digest.hpp"
#include "space/outcome.hpp"
#include "tuner/campaign/stored_document.hpp"

namespace nocturne::deploy {
namespace {

constexpr const char* kBlameAsk = "blame";

std::string blame_identity(const tuner::CampaignSpec& spec, const nlohmann::json& programs) {
  return space::short_digest(nlohmann::json{
      {"blame", spec.identity()},
      {"steps", spec.run.steps},
      {"slices", {spec.verify.slices, spec.verify.slice_steps}},
      {"programs", programs}}.dump());
}

/// Whether the last record of the same did not come to its end, on the machine as it is now.
bool goes_on(const db::Store& store, const db::CampaignRecord& record) {
  const auto all = store.list_campaigns();
  const db::CampaignSummary* last = nullptr;
  for (const db::CampaignSummary& each : all) {
    if (each.name != record.name || each.identity != record.identity) continue;
    if (last == nullptr || each.generation > last->generation) last = &each;
  }
  return last != nullptr && !last->finished_unix_ns && last->fingerprint == record.fingerprint.hash;
}

}  // namespace

BlameRecord BlameRecord::open(db::Store& store, const tuner::CampaignSpec& spec, const space::Fingerprint& machine,
                              const measure::Schedule& schedule, const std::vector<BlamedProgram>& programs) {
  BlameRecord record(store, spec, schedule, machine.identity());
  record.begin(machine, programs);
  return record;
}

space::Configuration BlameRecord::configuration(const std::string& program) const {
  space::Configuration named = spec_->space.default_configuration();
  named.set(parameter_, program);
  return named;
}

void BlameRecord::begin(const space::Fingerprint& machine, const std::vector<BlamedProgram>& programs) {
  parameter_ = "program";
  while (spec_->space.default_configuration().find(parameter_) != nullptr) parameter_ += '_';
  auto names = nlohmann::json::array();
  for (const BlamedProgram& each : programs) names.push_back(each.name);
  db::CampaignRecord record{.name = spec_->name,
                            .identity = blame_identity(*spec_, names),
                            .spec = spec_->document,
                            .strategy = kBlameAsk,
                            .seed = static_cast<std::int64_t>(spec_->run.seed),
                            .fingerprint = {.hash = fingerprint_, .fields = machine.to_json()},
                            .parameters = tuner::parameter_records(spec_->space)};
  record.parameters.push_back({.name = parameter_,
                               .stage = space::Stage::Build,
                               .domain = {{"values", names}},
                               .default_value = names.front(),
                               .description = "which program trains: the present one, or one of then"});
  record.fresh = !goes_on(*store_, record);
  const auto handle = store_->begin_or_resume_campaign(record);
  campaign_ = handle.id;
  generation_ = handle.generation;
  take_up_trials(handle.trials == 0, programs);
  found_ = std::ssize(good_runs(sides_.front()));
}

void BlameRecord::take_up_trials(bool is_new, const std::vector<BlamedProgram>& programs) {
  // Reservations of a session that was killed: each is made again below.
  store_->recover_interrupted(campaign_);
  db::Ask ask{.strategy = kBlameAsk, .count = std::ssize(programs)};
  for (const BlamedProgram& each : programs) {
    configurations_.push_back(configuration(each.name));
    ask.answer.push_back({.number = std::ssize(ask.answer),
                          .configuration = configurations_.back(),
                          .purpose = space::Purpose::Verify,
                          .reason = each.why});
  }
  if (is_new) store_->record_ask(campaign_, ask);
  const auto stored = store_->list_trials({.campaign = campaign_});
  for (const db::AskAnswer& each : ask.answer) {
    Side& side = sides_.emplace_back();
    const auto known =
        std::ranges::find_if(stored, [&](const db::StoredTrial& trial) { return trial.trial.number == each.number; });
    if (known != stored.end() && known->state == db::TrialState::Finished) {
      side.trial = known->id;
      side.finished = true;
      continue;
    }
    const std::string key = space::short_digest(kBlameAsk + each.configuration.canonical() + fingerprint_);
    side.trial = store_->reserve_trial(campaign_, {.number = each.number,
                                                   .configuration = each.configuration,
                                                   .fidelity = {.steps = spec_->run.steps},
                                                   .key = key});
  }
}

db::StoredTrial BlameRecord::trial(std::size_t program) const {
  db::StoredTrial trial{.id = sides_[program].trial, .campaign = campaign_};
  trial.trial.number = static_cast<std::int64_t>(program);
  trial.trial.configuration = configurations_[program];
  return trial;
}

void BlameRecord::add_run(const space::Run& run) {
  store_->add_run(sides_.front().trial, {.run = run, .fingerprint = fingerprint_});
}

std::vector<space::Run> BlameRecord::good_runs(const Side& side) const {
  const auto detail = store_->load_trial(side.trial);
  std::vector<space::Run> runs;
  for (const db::StoredRun& each : detail.runs)
    if (!each.in_flight && each.record.run.outcome == space::Outcome::Ok) runs.push_back(each.record.run);
  return runs;
}

std::vector<double> BlameRecord::present_seconds() const {
  const auto runs = good_runs(sides_.front());
  std::vector<double> seconds;
  for (const space::Run& run : runs) {
    const auto summary = measure::summarise(run, schedule_);
    if (summary) seconds.push_back(space::total_time(summary->parts, spec_->objective.primary));
  }
  return seconds;
}

void BlameRecord::close(bool ended) {
  for (Side& side : sides_) {
    const auto runs = good_runs(side);
    const auto summary = measure::summarise(runs, schedule_, spec_->objective);
    if (!summary) continue;  // nothing of it ended well: it stays as begun
    const db::TrialResult result{
        .outcome = space::Outcome::Ok, .reason = "", .estimate = summary->estimate, .parts = summary->parts};
    if (side.finished)
      store_->update_trial(side.trial, result);
    else
      store_->finish_trial(side.trial, result);
    side.finished = true;
  }
  if (ended) store_->finish_campaign(campaign_);
  store_->release_campaign(campaign_);
}

}  // namespace nocturne::deploy
