#include "tuner/exchange/trial_formats.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "search/replay/text_file.hpp"
#include "space/fingerprint.hpp"
#include "tuner/campaign/stored_document.hpp"

namespace nocturne::tuner {
namespace {

using Ordered = nlohmann::ordered_json;
using space::Outcome;

constexpr double kMilliseconds = 1e3;  // of a second: what Kernel Tuner counts in

Ordered value_json(const db::StoredTrial& trial, const std::string& parameter) {
  const space::Value* value = trial.trial.configuration.find(parameter);
  return value == nullptr ? Ordered(kInactive) : Ordered(space::to_json(*value));
}

Ordered configuration_json(const TrialTable& table, const db::StoredTrial& trial) {
  Ordered document = Ordered::object();
  for (const auto& parameter : table.parameters) document[parameter.name] = value_json(trial, parameter.name);
  return document;
}

std::string timestamp(const db::StoredTrial& trial) {
  const std::chrono::sys_time<std::chrono::nanoseconds> time(
      std::chrono::nanoseconds(trial.finished_unix_ns.value_or(trial.reserved_unix_ns)));
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}+00:00", std::chrono::floor<std::chrono::seconds>(time));
}

double compile_ms(const db::StoredTrial& trial) {
  return trial.trial.parts ? trial.trial.parts->compile * kMilliseconds : 0;
}

/// From reservation to end, without what was compiled.
double benchmark_ms(const db::StoredTrial& trial) {
  if (!trial.finished_unix_ns || trial.reused_from) return 0;
  const auto whole = static_cast<double>(*trial.finished_unix_ns - trial.reserved_unix_ns) / 1e6;
  return std::max(0.0, whole - compile_ms(trial));
}

/// T4's word for an outcome.
std::string_view invalidity_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::Ok:
      return "correct";
    case Outcome::Unsupported:
      return "constraints";
    case Outcome::BuildFailed:
      return "compile";
    case Outcome::Timeout:
      return "timeout";
    case Outcome::Wrong:
    case Outcome::Diverged:
      return "correctness";
    default:
      return "runtime";
  }
}

/// What Kernel Tuner writes in place of a time.
std::string_view error_of(Outcome outcome) {
  if (outcome == Outcome::Unsupported) return "InvalidConfig";
  return outcome == Outcome::BuildFailed ? "CompilationFailedConfig" : "RuntimeFailedConfig";
}

std::string t4_text(const TrialTable& table) {
  Ordered results = Ordered::array();
  for (const db::StoredTrial& each : table.trials) {
    const auto& estimate = each.trial.estimate;
    Ordered times = {{"compilation_time", compile_ms(each)},
                     {"compilation", compile_ms(each)},
                     {"benchmark", benchmark_ms(each)},
                     {"framework", 0},
                     {"search_algorithm", 0},
                     {"validation", 0},
                     {"runtimes", Ordered::array()}};
    Ordered measurements = Ordered::array();
    if (estimate) {
      times["runtimes"].push_back(estimate->value * kMilliseconds);
      measurements.push_back({{"name", "time"}, {"value", estimate->value * kMilliseconds}, {"unit", "ms"}});
    }
    results.push_back({{"timestamp", timestamp(each)},
                       {"configuration", configuration_json(table, each)},
                       {"times", std::move(times)},
                       {"invalidity", invalidity_of(each.trial.outcome)},
                       {"correctness", each.trial.outcome == Outcome::Wrong ? 0 : 1},
                       {"measurements", std::move(measurements)},
                       {"objectives", {"time"}}});
  }
  return Ordered{{"results", std::move(results)}, {"schema_version", "1.0.0"}}.dump(1) + "\n";
}

/// The values that occur, in the order of numbers or of first occurrence: Kernel Tuner's spaces are lists.
Ordered occurring_values(const TrialTable& table, const std::string& parameter) {
  Ordered values = Ordered::array();
  for (const db::StoredTrial& each : table.trials) {
    const Ordered value = value_json(each, parameter);
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  if (std::ranges::all_of(values, [](const Ordered& each) { return each.is_number(); }))
    std::sort(values.begin(), values.end());
  return values;
}

/// A value as Python writes it: keys of a cache are made of that.
std::string python_text(const Ordered& value) {
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

Ordered cache_entry(const TrialTable& table, const db::StoredTrial& trial) {
  Ordered entry = configuration_json(table, trial);
  const auto& estimate = trial.trial.estimate;
  if (estimate) {
    entry["time"] = estimate->value * kMilliseconds;
    entry["times"] = {estimate->value * kMilliseconds};
  } else {
    entry["time"] = error_of(trial.trial.outcome);
    entry["times"] = Ordered::array();
  }
  entry["compile_time"] = compile_ms(trial);
  entry["verification_time"] = 0;
  entry["benchmark_time"] = benchmark_ms(trial);
  entry["strategy_time"] = 0;
  entry["framework_time"] = 0;
  entry["timestamp"] = timestamp(trial);
  return entry;
}

std::string kernel_tuner_text(const TrialTable& table) {
  Ordered keys = Ordered::array(), values = Ordered::object(), cache = Ordered::object();
  for (const auto& parameter : table.parameters) {
    keys.push_back(parameter.name);
    values[parameter.name] = occurring_values(table, parameter.name);
  }
  for (const db::StoredTrial& each : table.trials) {
    std::string key;
    for (const auto& parameter : table.parameters)
      key += (key.empty() ? "" : ",") + python_text(value_json(each, parameter.name));
    cache[key] = cache_entry(table, each);
  }
  const Ordered document = {{"schema_version", "1.0.0"},
                            {"device_name", table.machine.empty() ? "unknown" : table.machine},
                            {"kernel_name", table.campaign},
                            {"problem_size", {1}},
                            {"tune_params_keys", std::move(keys)},
                            {"tune_params", std::move(values)},
                            {"objective", "time"},
                            {"cache", std::move(cache)}};
  return document.dump(1) + "\n";
}

std::string csv_text(const TrialTable& table) {
  std::string text = "trial,outcome,seconds,standard_error,runs,epochs,reason";
  for (const auto& parameter : table.parameters) text += "," + search::replay::csv_field(parameter.name);
  text += '\n';
  for (const db::StoredTrial& each : table.trials) {
    const space::Trial& trial = each.trial;
    fmt::format_to(std::back_inserter(text), "{},{},", trial.number, to_text(trial.outcome));
    if (trial.estimate)
      fmt::format_to(std::back_inserter(text), "{},{},{},", trial.estimate->value, trial.estimate->standard_error,
                     trial.estimate->runs);
    else
      text += ",,,";
    fmt::format_to(std::back_inserter(text), "{},{}", table.epochs, search::replay::csv_field(trial.reason));
    for (const auto& parameter : table.parameters)
      text += "," + search::replay::csv_field(trial.configuration.text_of(parameter.name));
    text += '\n';
  }
  return text;
}

std::string hyperfine_text(const TrialTable& table) {
  Ordered results = Ordered::array();
  for (const db::StoredTrial& each : table.trials) {
    const auto& estimate = each.trial.estimate;
    if (!estimate) continue;  // hyperfine ends where a command fails
    Ordered parameters = Ordered::object();
    std::string command = table.campaign;
    for (const auto& parameter : table.parameters) {
      const auto value = value_json(each, parameter.name);
      parameters[parameter.name] = value.is_string() ? value : Ordered(value.dump());
      command += fmt::format(" {}={}", parameter.name, parameters[parameter.name].get<std::string>());
    }
    const double sd = estimate->standard_error * std::sqrt(static_cast<double>(std::max(estimate->runs, 1)));
    results.push_back({{"command", std::move(command)},
                       {"mean", estimate->value},
                       {"stddev", estimate->runs > 1 ? Ordered(sd) : Ordered()},
                       {"median", estimate->value},
                       {"user", 0},
                       {"system", 0},
                       {"min", estimate->value},
                       {"max", estimate->value},
                       {"times", {estimate->value}},
                       {"exit_codes", {0}},
                       {"parameters", std::move(parameters)}});
  }
  return Ordered{{"results", std::move(results)}}.dump(2) + "\n";
}

std::string machine_of(const db::Store& store, const db::CampaignSummary& campaign) {
  if (campaign.fingerprint.empty()) return {};
  const auto fingerprint = space::Fingerprint::from_json(store.load_fingerprint(campaign.fingerprint).fields);
  const space::FingerprintField* model = fingerprint ? fingerprint->find("cpu.model") : nullptr;
  return model == nullptr ? std::string() : model->value;
}

}  // namespace

TrialTable trial_table(const db::Store& store, const db::CampaignSummary& campaign) {
  return {.campaign = campaign.name,
          .machine = machine_of(store, campaign),
          .epochs = objective_of(campaign.spec).primary,
          .parameters = store.parameters(campaign.id),
          .trials = store.list_trials({.campaign = campaign.id, .state = db::TrialState::Finished})};
}

const std::vector<TrialFormat>& trial_formats() {
  static const std::vector<TrialFormat> list = {
      {"t4", "all trials as T4 results, for Kernel Tuner and its peers", t4_text},
      {"kernel-tuner", "all trials as a cache of Kernel Tuner, which its simulation mode reads", kernel_tuner_text},
      {"csv", "all trials as a table, failed ones too", csv_text},
      {"hyperfine", "trials that worked as hyperfine's JSON, for its scripts", hyperfine_text},
  };
  return list;
}

const TrialFormat* find_trial_format(std::string_view name) {
  for (const TrialFormat& format : trial_formats())
    if (format.name == name) return &format;
  return nullptr;
}

}  // namespace nocturne::tuner
