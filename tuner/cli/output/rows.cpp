#include "tuner/cli/output/rows.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "measure/comparison/data_wait.hpp"
#include "measure/comparison/disturbance.hpp"
#include "measure/comparison/statistics.hpp"
#include "tuner/campaign/answer/stored_gain.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/executor/order_json.hpp"

namespace nocturne::cli {
namespace {

using nlohmann::json;

double seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

/// Linear interpolation between order statistics (Hyndman and Fan, Am. Stat. 50(4), 1996, definition 7).
double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - std::floor(place));
}

json phase_row(const space::Phase& phase) {
  return {{"name", phase.name},
          {"wall_s", seconds(phase.wall)},
          {"cpu_s", seconds(phase.cpu)},
          {"finished", phase.finished}};
}

/// Null: nothing was timed.
json steps_row(const space::Run& run) {
  if (run.samples.empty()) return nullptr;
  const SampleSummary summary = summarise_samples(measure::step_seconds(run));
  json row = {{"samples", run.samples.size()},
              {"median_s", summary.median},
              {"minimum_s", summary.minimum},
              {"maximum_s", summary.maximum},
              {"spread_s", summary.spread}};
  if (const auto wait = measure::data_wait(run)) {
    row["data_wait_s"] = wait->step_seconds;
    row["data_wait_share"] = wait->share;
  }
  return row;
}

json epoch_row(const space::Epoch& epoch) {
  return {{"index", epoch.index}, {"wall_s", seconds(epoch.wall)}, {"loss", or_null(epoch.loss)}};
}

json number_or_null(const TrialNumbers& numbers, const space::Configuration& configuration) {
  const auto found = numbers.find(configuration.identity());
  return found == numbers.end() ? json() : json(found->second);
}

}  // namespace

json campaign_row(const db::CampaignSummary& campaign) {
  return {{"name", campaign.name},
          {"generation", campaign.generation},
          {"identity", campaign.identity},
          {"strategy", campaign.strategy},
          {"seed", campaign.seed},
          {"trials", campaign.trials},
          {"finished", campaign.finished},
          {"ok", campaign.ok},
          {"state", campaign.owner_pid          ? "running"
                    : campaign.finished_unix_ns ? "finished"
                                                : "interrupted"},
          {"pid", or_null(campaign.owner_pid)},
          {"created", utc_text(campaign.created_unix_ns)},
          {"opened", utc_text(campaign.opened_unix_ns)}};
}

json parts_row(const space::Parts& parts) {
  return {{"import", parts.import},
          {"data", parts.data},
          {"compile", parts.compile},
          {"first_step_excess", parts.first_step_excess},
          {"epoch_overhead", parts.epoch_overhead},
          {"steady_step", parts.steady_step}};
}

json trial_row(const db::StoredTrial& stored) {
  const space::Trial& trial = stored.trial;
  const bool finished = stored.state == db::TrialState::Finished;
  json row = {{"trial", trial.number},
              {"campaign", stored.campaign_name},
              {"generation", stored.generation},
              {"state", finished ? "finished" : "reserved"},
              {"outcome", finished ? json(space::to_text(trial.outcome)) : json(nullptr)},
              {"reason", trial.reason},
              {"steps", trial.fidelity.steps},
              {"runs", stored.runs},
              {"reused", stored.reused_from.has_value()},
              {"peak_bytes", or_null(trial.peak_bytes)},
              {"device_bytes", or_null(trial.device_bytes)},
              {"configuration", trial.configuration.to_json()},
              {"estimate", nullptr},
              {"parts_s", nullptr}};
  if (trial.estimate) {
    row["estimate"] = {{"seconds", trial.estimate->value},
                       {"standard_error", trial.estimate->standard_error},
                       {"runs", trial.estimate->runs}};
  }
  if (trial.parts) {
    row["parts_s"] = parts_row(*trial.parts);
    row["steps_per_epoch"] = trial.parts->steps_per_epoch;
  }
  return row;
}

json run_row(const db::StoredRun& stored, bool samples) {
  const space::Run& run = stored.record.run;
  json row = tuner::run_to_json(run);
  for (const char* raw : {"started_unix_ns", "wall_ns", "cpu_ns"}) row.erase(raw);
  if (!samples) row.erase("samples");
  if (stored.in_flight) row["outcome"] = nullptr;
  row["in_flight"] = stored.in_flight;
  row["started"] = utc_text(run.started_unix_ns);
  row["wall_s"] = seconds(run.wall);
  row["cpu_s"] = seconds(run.cpu);
  row["phases"] = json_list(run.phases, phase_row);
  row["epochs"] = json_list(run.epochs, epoch_row);
  row["steps"] = steps_row(run);
  row["disturbed"] = measure::disturbances(run);
  return row;
}

TrialNumbers numbers_of(std::span<const db::StoredTrial> trials) {
  TrialNumbers numbers;
  for (const db::StoredTrial& each : trials) numbers.emplace(each.trial.configuration.identity(), each.trial.number);
  return numbers;
}

json comparison_row(const db::StoredComparison& each, const TrialNumbers& numbers) {
  json document = {{"role", each.record.role},
                   {"candidate", number_or_null(numbers, each.record.candidate)},
                   {"baseline", number_or_null(numbers, each.record.baseline)},
                   {"method", each.record.method},
                   {"estimator", each.record.estimator},
                   {"started", utc_text(each.started_unix_ns)},
                   {"pairs", json::array()},
                   {"verdicts", json::array()}};
  for (const db::StoredPair& pair : each.pairs) {
    document["pairs"].push_back({{"pair", pair.index},
                                 {"first", pair.first == db::Side::Candidate ? "candidate" : "baseline"},
                                 {"candidate_run", pair.candidate_run},
                                 {"baseline_run", pair.baseline_run}});
  }
  for (const db::VerdictRecord& verdict : each.verdicts) {
    const tuner::StoredGain gain = tuner::gain_of(verdict, each.record.role, false);
    document["verdicts"].push_back({{"epochs", verdict.horizon_epochs},
                                    {"primary", verdict.primary},
                                    {"verdict", verdict.verdict},
                                    {"gain_percent", gain.gain_percent},
                                    {"low_percent", gain.low_percent},
                                    {"high_percent", gain.high_percent},
                                    {"confidence", verdict.confidence},
                                    {"pairs", verdict.pairs}});
  }
  return document;
}

json event_row(const db::EventRecord& event) {
  return {{"time", utc_text(event.time_unix_ns)}, {"level", db::to_text(event.level)}, {"what", event.what}};
}

std::string settings_line(const space::Configuration& configuration) {
  std::string line;
  for (const auto& [name, value] : configuration.values())
    line += fmt::format("{}{}={}", line.empty() ? "" : " ", name, space::to_text(value));
  return line;
}

std::string json_text(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() ? "" : value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string domain_text(const json& domain) {
  if (!domain.is_object()) return json_text(domain);
  std::string text;
  if (const auto values = domain.find("values"); values != domain.end() && values->is_array()) {
    for (const json& each : *values) text += (text.empty() ? "" : ", ") + json_text(each);
    return (values->size() == 1 ? "only " : "one of ") + text;
  }
  const auto range = domain.find("range");
  if (range == domain.end() || !range->is_array() || range->size() != 2) return json_text(domain);
  text = json_text(range->at(0)) + " to " + json_text(range->at(1));
  if (domain.contains("step")) text += " in steps of " + json_text(domain.at("step"));
  return text;
}

SampleSummary summarise_samples(std::vector<double> values) {
  std::ranges::sort(values);
  return {.median = quantile(values, 0.5),
          .minimum = values.front(),
          .maximum = values.back(),
          .spread = quantile(values, 0.75) - quantile(values, 0.25)};
}

}  // namespace nocturne::cli
