#include "tuner/cli/output/rows.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "measure/comparison/data_wait.hpp"
#include "measure/comparison/disturbance.hpp"
#include "measure/comparison/statistics.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"

namespace nocturne::cli {
namespace {

using nlohmann::json;

double seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

json load_row(const space::Load& load) {
  return {{"loadavg_before", or_null(load.loadavg_before)},
          {"loadavg_after", or_null(load.loadavg_after)},
          {"cpu_pressure", or_null(load.cpu_pressure)},
          {"memory_pressure", or_null(load.memory_pressure)},
          {"io_pressure", or_null(load.io_pressure)},
          {"steal", or_null(load.steal)},
          {"other_cpu", or_null(load.other_cpu)}};
}

json range_row(const space::ReadingRange& range) {
  return {{"min", or_null(range.min)}, {"mean", or_null(range.mean)}, {"max", or_null(range.max)}};
}

json device_row(const space::DeviceReport& device) {
  return {{"name", device.name},
          {"readings", device.readings},
          {"energy_j", or_null(device.energy_j)},
          {"sm_clock_mhz", range_row(device.sm_clock_mhz)},
          {"memory_clock_mhz", range_row(device.memory_clock_mhz)},
          {"temperature_c", range_row(device.temperature_c)},
          {"power_w", range_row(device.power_w)},
          {"throttled", device.throttled}};
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

json norm_row(const space::Norm& norm) {
  return {{"steps", norm.steps}, {"layer", norm.layer}, {"norm", or_null(norm.norm)}, {"moved", or_null(norm.moved)}};
}

json sample_row(const space::Sample& sample) {
  return {{"first_step", sample.first_step},          {"steps", sample.steps},
          {"wall_ns", sample.wall.count()},           {"cpu_ns", sample.cpu.count()},
          {"data_wait_ns", sample.data_wait.count()}, {"loss", or_null(sample.loss)}};
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
  json row = {{"id", run.id},
              {"purpose", space::to_text(run.purpose)},
              {"outcome", stored.in_flight ? json(nullptr) : json(space::to_text(run.outcome))},
              {"in_flight", stored.in_flight},
              {"reason", run.reason},
              {"exit_code", or_null(run.exit_code)},
              {"signal", or_null(run.signal)},
              {"started", utc_text(run.started_unix_ns)},
              {"wall_s", seconds(run.wall)},
              {"cpu_s", seconds(run.cpu)},
              {"seed", run.seed},
              {"folder", run.folder},
              {"command", run.command},
              {"artifact", run.artifact},
              {"ready", run.ready},
              {"phases", json_list(run.phases, phase_row)},
              {"steps", steps_row(run)},
              {"epochs", json_list(run.epochs, epoch_row)},
              {"norms", json_list(run.norms, norm_row)},
              {"accuracy", nullptr},
              {"memory", nullptr},
              {"device", run.device ? device_row(*run.device) : json(nullptr)},
              {"load", load_row(run.load)},
              {"disturbed", measure::disturbances(run)},
              {"log_tail", run.log_tail}};
  if (run.accuracy) {
    row["accuracy"] = {
        {"accuracy", run.accuracy->accuracy}, {"loss", run.accuracy->loss}, {"examples", run.accuracy->examples}};
  }
  if (run.memory) {
    row["memory"] = {{"peak_rss_bytes", run.memory->peak_rss_bytes}, {"device_bytes", run.memory->device_bytes}};
  }
  if (samples) row["samples"] = json_list(run.samples, sample_row);
  return row;
}

std::string settings_line(const space::Configuration& configuration) {
  std::string line;
  for (const auto& [name, value] : configuration.values()) {
    line += fmt::format("{}{}={}", line.empty() ? "" : " ", name, space::to_text(value));
  }
  return line;
}

std::string json_text(const json& value) {
  if (value.is_string()) {
    return value.get<std::string>();
  }
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
