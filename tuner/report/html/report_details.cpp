// What charts of single trials need.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "measure/comparison/statistics.hpp"
#include "space/fingerprint.hpp"
#include "tuner/campaign/answer/roofline.hpp"
#include "tuner/campaign/answer/tradeoffs.hpp"
#include "tuner/campaign/noise/stored_noise.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/report/html/report_data.hpp"

namespace nocturne::report {
namespace {

constexpr std::size_t kMostLines = 5;  // of epochs: more colours look alike
constexpr std::size_t kMostReached = 10;
constexpr double kGibibyte = 1024.0 * 1024 * 1024;

/// Whether a trial has parts that depend on the number of epochs.
bool has_epochs(const ReportData& data) {
  const auto sections = tuner::sections_of(data.answer.campaign.spec);
  return !data.answer.objective.target && (sections.worker.own.empty() || !sections.worker.own.whole());
}

std::string name_of(const ReportData& data, std::int64_t number) {
  const auto is = [number](const std::optional<db::StoredTrial>& trial) {
    return trial && trial->trial.number == number;
  };
  if (is(data.answer.baseline)) return "the default";
  return fmt::format("trial {}{}", number, is(data.answer.best) ? ", the best" : "");
}

void add_line(ReportData& data, const db::StoredTrial& stored) {
  const std::string name = name_of(data, stored.trial.number);
  const auto known = std::ranges::find(data.epochs.lines, name, &EpochTimes::Line::name);
  if (known != data.epochs.lines.end() || !stored.trial.parts || data.epochs.lines.size() == kMostLines) return;
  const space::Parts& parts = *stored.trial.parts;
  data.epochs.lines.push_back({.name = name,
                               .start_s = space::startup_time(parts),
                               .epoch_s = parts.epoch_overhead + parts.steps_per_epoch * parts.steady_step,
                               .settings = data.defaults.text(stored.trial.configuration)});
}

void add_epochs(const db::Store& store, const std::vector<db::StoredTrial>& worked, ReportData& data) {
  if (!has_epochs(data)) return;
  if (data.answer.baseline) add_line(data, *data.answer.baseline);
  if (data.answer.best) add_line(data, *data.answer.best);
  for (const tuner::Reign& reign : tuner::reigns_beyond_noise(worked)) add_line(data, worked[reign.trial]);
  data.epochs.horizons = data.answer.objective.epochs;
  for (const auto& each : tuner::stored_break_evens(store, data.answer.campaign, worked))
    if (each.result.epochs) data.epochs.break_evens.push_back(tuner::to_text(each));
}

void add_memory(const std::vector<db::StoredTrial>& worked, ReportData& data) {
  const double primary = data.answer.objective.primary;
  const std::vector<tuner::Wish> wishes = {{.kind = tuner::Wish::Kind::Time, .number = primary, .text = "time"},
                                           {.kind = tuner::Wish::Kind::Memory, .number = 0, .text = "memory"}};
  const auto weighed = tuner::weigh(worked, wishes, {}, tuner::workload_of(data.answer.campaign.spec));
  MemoryUse& use = data.memory;
  use.horizon = horizon_of(data.answer);
  for (const db::StoredTrial& stored : worked) {
    if (!stored.trial.peak_bytes || !stored.trial.parts) continue;
    const std::size_t place = use.trials.size();
    if (data.answer.baseline && stored.id == data.answer.baseline->id) use.baseline = place;
    if (data.answer.best && stored.id == data.answer.best->id) use.best = place;
    use.trials.push_back({.gibibytes = static_cast<double>(*stored.trial.peak_bytes) / kGibibyte,
                          .seconds = space::total_time(*stored.trial.parts, primary),
                          .trial = stored.trial.number,
                          .settings = data.defaults.text(stored.trial.configuration)});
  }
  for (const auto& group : tuner::groups_of(weighed.front, wishes)) {
    const auto number = weighed.front[group.front()].trial.trial.number;
    const auto found = std::ranges::find(use.trials, number, &MemoryUse::Trial::trial);
    if (found == use.trials.end()) continue;
    std::string as_good;
    for (std::size_t i = 1; i < group.size(); ++i)
      as_good += fmt::format("{}{}", as_good.empty() ? "" : ", ", weighed.front[group[i]].trial.trial.number);
    use.front.push_back({.trial = static_cast<std::size_t>(found - use.trials.begin()), .as_good = as_good});
  }
}

void add_reached(const db::Store& store, ReportData& data) {
  const db::CampaignSummary& campaign = data.answer.campaign;
  if (data.moment.running || tuner::tunes_own_command(campaign.spec)) return;
  const auto record = store.find_fingerprint(campaign.fingerprint);
  const auto fingerprint = record ? space::Fingerprint::from_json(record->fields)
                                  : std::expected<space::Fingerprint, std::string>(std::unexpected(""));
  if (!fingerprint) return;
  const auto peaks = tuner::peaks_for(store, *fingerprint, tuner::workload_of(campaign.spec));
  if (!peaks) return;
  const tuner::Roofline roofline = tuner::roofline_of(store, campaign, *peaks);
  data.reached.sentence = tuner::best_sentence(roofline) + " " + tuner::doubt_sentence(roofline);
  for (const tuner::RooflineRow& row : roofline.rows) {
    if (!row.bound || data.reached.rows.size() == kMostReached) continue;
    data.reached.rows.push_back({.trial = row.trial,
                                 .share = row.share(),
                                 .waits_for = row.bound->resource,
                                 .settings = data.defaults.text(row.configuration)});
  }
}

void add_process(const db::Store& store, const std::optional<db::StoredTrial>& trial, ReportData& data) {
  if (!trial) return;
  const std::string name = name_of(data, trial->trial.number);
  const auto known = std::ranges::find(data.steps.processes, name, &StepTimes::Process::name);
  if (known != data.steps.processes.end()) return;
  const auto detail = store.load_trial(trial->id);
  for (const db::StoredRun& stored : detail.runs) {
    const space::Run& run = stored.record.run;
    if (run.outcome != space::Outcome::Ok || run.samples.empty()) continue;
    StepTimes::Process process{.name = name, .first_step = {}, .seconds = measure::step_seconds(run)};
    for (const space::Sample& sample : run.samples)
      process.first_step.push_back(static_cast<double>(sample.first_step));
    if (process.first_step.size() == process.seconds.size()) data.steps.processes.push_back(std::move(process));
    return;
  }
}

void add_steps(const db::Store& store, ReportData& data) {
  add_process(store, data.answer.baseline, data);
  add_process(store, data.answer.best, data);
  const space::Workload workload = tuner::workload_of(data.answer.campaign.spec);
  for (const auto& floor : store.noise_floors(tuner::noise_workload(workload))) {
    if (floor.fingerprint != data.answer.campaign.fingerprint || floor.figures.empty()) continue;
    const auto& figure = std::ranges::min(floor.figures, {}, &db::NoiseFigure::sd);
    data.steps.noise = fmt::format(
        "Two equal programs, measured in a pair, seem {} % apart here (standard deviation of {} pairs, {}): what "
        "differs by less needs many pairs.",
        digits(100 * figure.sd), figure.pairs, figure.method);
    return;
  }
}

}  // namespace

void add_details(const db::Store& store, ReportData& data) {
  std::vector<db::StoredTrial> worked;
  std::ranges::copy_if(data.trials, std::back_inserter(worked),
                       [](const db::StoredTrial& each) { return each.trial.parts.has_value(); });
  add_epochs(store, worked, data);
  add_memory(worked, data);
  add_reached(store, data);
  add_steps(store, data);
}

}  // namespace nocturne::report
