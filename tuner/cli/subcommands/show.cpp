// `nocturne show TRIAL [CAMPAIGN]`: a page on one trial; with --runs everything known of it, and the commands
// that repeat its runs by hand.

#include "tuner/cli/subcommand.hpp"

#include <algorithm>
#include <cstdint>
#include <ostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "measure/comparison/data_wait.hpp"
#include "measure/comparison/disturbance.hpp"
#include "measure/comparison/statistics.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/campaign/answer/default_settings.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/layout.hpp"
#include "tuner/cli/output/rows.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::cli {
namespace {

struct ShowOptions {
  std::int64_t trial = 0;
  CampaignChoice campaign;
  bool runs = false;     ///< whole runs instead of a line for each
  bool log = false;      ///< the whole stored tail of the output
  bool samples = false;  ///< with --json: the raw samples too
};

constexpr std::size_t kLogLines = 10;  // of a run that did not end well, without --log
constexpr std::size_t kSparkline = 60;

/// Why the strategy asked for it; empty where it said nothing.
std::string why_chosen(const db::Store& store, db::CampaignId campaign, std::int64_t number) {
  for (const db::Exchange& exchange : store.exchanges(campaign)) {
    const auto* ask = std::get_if<db::Ask>(&exchange);
    if (ask == nullptr) continue;
    const auto found = std::ranges::find(ask->answer, number, &db::AskAnswer::number);
    if (found != ask->answer.end() && !found->reason.empty())
      return fmt::format("{}: {}", ask->strategy, one_line(found->reason));
  }
  return {};
}

void print_trial(const Context& context, const db::TrialDetail& detail, const space::Objective& objective,
                 const std::string& chosen, const tuner::DefaultSettings& defaults) {
  std::ostream& out = *context.out;
  const db::StoredTrial& stored = detail.stored;
  const bool colour = context.colour_out();
  const space::Trial& trial = stored.trial;
  const bool finished = stored.state == db::TrialState::Finished;
  const bool ok = finished && trial.outcome == space::Outcome::Ok;
  out << coloured(fmt::format("{}, generation {}, trial {}", one_line(stored.campaign_name), stored.generation,
                              trial.number),
                  Style::Strong, colour)
      << (trial.number == 0 ? " (the default)" : "") << '\n';
  out << "outcome        "
      << coloured(finished ? std::string(space::to_text(trial.outcome)) : "in flight, or interrupted",
                  ok ? Style::Good : Style::Bad, colour)
      << (trial.reason.empty() ? "" : ": " + one_line(trial.reason)) << '\n';
  out << "settings       " << one_line(defaults.text(trial.configuration)) << '\n';
  if (!chosen.empty()) out << "chosen         " << chosen << '\n';
  out << fmt::format("steps          {} timed in each of {} run{}{}\n", trial.fidelity.steps, stored.runs,
                     stored.runs == 1 ? "" : "s", stored.reused_from ? ", reused from an equal trial" : "");
  if (trial.peak_bytes) {
    out << fmt::format(
        "memory         {} {}\n", bytes_text(*trial.peak_bytes),
        trial.outcome == space::Outcome::OutOfMemory ? "when it was ended: it needs more" : "at its peak");
  }
  if (trial.device_bytes) {
    out << fmt::format("device         {}{}\n", bytes_text(*trial.device_bytes),
                       trial.device_memory_bytes ? " of " + bytes_text(*trial.device_memory_bytes) : "");
  }
  if (trial.estimate) {
    const bool computed = trial.parts && tuner::is_extrapolated(trial, objective.primary);
    out << fmt::format(
        "estimate       {} for {}{}\n", seconds_with_error(trial.estimate->value, trial.estimate->standard_error),
        horizon_text(objective, objective.primary), computed ? ", computed from the steps that were timed" : "");
  }
  if (trial.parts) {
    const space::Parts& parts = *trial.parts;
    out << fmt::format("parts          import {}, data {}, compile {}, first step's excess {}\n",
                       seconds_text(parts.import), seconds_text(parts.data), seconds_text(parts.compile),
                       seconds_text(parts.first_step_excess));
    const char* whole = objective.target ? "training" : "epoch";
    out << fmt::format("               {0}'s overhead {1}, {2:g} steps of {3} {4} {0}\n", whole,
                       seconds_text(parts.epoch_overhead), parts.steps_per_epoch, seconds_text(parts.steady_step),
                       objective.target ? "a" : "an");
    if (const auto wait = tuner::data_wait_of(detail); wait && wait->step_seconds > 0) {
      out << fmt::format("               of each step {} ({}) waits for data: {} of {} {}\n",
                         seconds_text(wait->step_seconds), percent_text(wait->share),
                         seconds_text(measure::data_wait_seconds(*wait, parts, 1)), objective.target ? "a" : "an",
                         whole);
    }
  }
}

std::string load_text(const space::Load& load) {
  std::string text;
  const auto add = [&](std::string_view name, const std::optional<double>& value, bool share) {
    if (value) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name,
                          share ? percent_text(*value) : fmt::format("{:.2f}", *value));
    }
  };
  add("average before", load.loadavg_before, false);
  add("after", load.loadavg_after, false);
  add("other processes", load.other_cpu, true);
  add("steal", load.steal, true);
  add("CPU pressure", load.cpu_pressure, true);
  add("memory pressure", load.memory_pressure, true);
  add("I/O pressure", load.io_pressure, true);
  return text.empty() ? "not known" : text;
}

void print_log(std::ostream& out, const std::string& log, std::size_t lines) {
  std::string safe = printable(log);
  while (safe.ends_with('\n')) safe.pop_back();
  std::size_t begin = safe.size();
  for (std::size_t i = 0; i < lines && begin != std::string::npos && begin > 0; ++i)
    begin = safe.rfind('\n', begin - 1);
  begin = begin == std::string::npos ? 0 : begin == 0 ? 0 : begin + 1;
  out << "  log\n";
  while (begin < safe.size()) {
    const std::size_t end = std::min(safe.find('\n', begin), safe.size());
    out << "    | " << safe.substr(begin, end - begin) << '\n';
    begin = end + 1;
  }
}

/// Its learning curve: a line of accuracies, and its ends.
void print_curve(std::ostream& out, const space::Run& run) {
  if (run.curve.empty()) return;
  std::vector<double> accuracies;
  for (const space::CurvePoint& point : run.curve) accuracies.push_back(point.test.accuracy);
  const auto text = [](const space::CurvePoint& point) {
    return fmt::format("{:.2f} % after {} steps", 100 * point.test.accuracy, point.steps);
  };
  out << fmt::format("  curve        {} points: {}, {}\n               {}\n", run.curve.size(), text(run.curve.front()),
                     text(run.curve.back()), sparkline(accuracies, kSparkline));
}

/// Gate runs: how large and how far from its beginning each tensor was in the end.
void print_norms(std::ostream& out, const space::Run& run) {
  const auto text = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.4g}", *value) : "not finite";
  };
  for (const space::Norm& norm : run.norms) {
    if (norm.steps != run.norms.back().steps) continue;
    out << fmt::format("  norm         {} after {} steps: {}, moved by {}\n", one_line(norm.layer), norm.steps,
                       text(norm.norm), text(norm.moved));
  }
}

std::string range_text(const space::ReadingRange& range, std::string_view unit) {
  std::string text;
  const auto add = [&text](std::string_view name, const std::optional<double>& value) {
    if (value) text += fmt::format("{}{} {:.0f}", text.empty() ? "" : ", ", name, *value);
  };
  add("min", range.min);
  add("mean", range.mean);
  add("max", range.max);
  return text.empty() ? text : fmt::format("{} {}", text, unit);
}

void print_device(std::ostream& out, const space::DeviceReport& device) {
  const auto line = [&out](std::string_view name, const std::string& text) {
    if (!text.empty()) out << fmt::format("  {:<13}{}\n", name, text);
  };
  line("device", fmt::format("{}, asked {} times", one_line(device.name), device.readings));
  line("energy", device.energy_j ? fmt::format("{:.4g} J", *device.energy_j) : std::string());
  line("clock", range_text(device.sm_clock_mhz, "MHz"));
  line("memory clock", range_text(device.memory_clock_mhz, "MHz"));
  line("temperature", range_text(device.temperature_c, "°C"));
  line("power", range_text(device.power_w, "W"));
  std::string throttled;
  for (const auto& [reason, share] : device.throttled) {
    throttled +=
        fmt::format("{}{} in {} of its readings", throttled.empty() ? "" : ", ", one_line(reason), percent_text(share));
  }
  line("throttled", throttled);
}

/// The times of its steps, what they waited for, and how the loss went. Nothing where no step was timed.
void print_samples(std::ostream& out, const space::Run& run) {
  const std::vector<double> steps = measure::step_seconds(run);
  if (steps.empty()) return;
  const SampleSummary summary = summarise_samples(steps);
  out << fmt::format("  samples      {}: median {} a step, minimum {}, maximum {}, middle half within {}\n",
                     steps.size(), seconds_text(summary.median), seconds_text(summary.minimum),
                     seconds_text(summary.maximum), seconds_text(summary.spread));
  out << "               " << sparkline(steps, kSparkline) << '\n';
  if (const auto wait = measure::data_wait(run); wait && wait->step_seconds > 0) {
    out << fmt::format("  data         waited for {} a step, {} of its time\n", seconds_text(wait->step_seconds),
                       percent_text(wait->share));
  }
  const auto& losses = run.samples;
  if (losses.front().loss && losses.back().loss)
    out << fmt::format("  loss         {:.4g} → {:.4g}\n", *losses.front().loss, *losses.back().loss);
}

/// A line each; of those that come in every epoch one line says how many and how long all of them took.
void print_phases(std::ostream& out, const space::Run& run) {
  struct Count {
    std::int64_t number = 0;
    std::chrono::nanoseconds wall{};
  };
  Count starts, ends;
  for (const space::Phase& phase : run.phases) {
    if (!measure::is_of_start(phase.name)) {
      Count& count = phase.name == measure::kEpochStart ? starts : ends;
      ++count.number;
      count.wall += phase.wall;
      continue;
    }
    out << fmt::format("  {:<12} {}{}\n", "phase " + one_line(phase.name),
                       phase.finished ? nanoseconds_text(phase.wall) : "not finished",
                       phase.finished && phase.cpu.count() > 0 ? ", CPU time " + nanoseconds_text(phase.cpu) : "");
  }
  const auto print = [&](const Count& count, std::string_view one, std::string_view of) {
    if (count.number == 0) return;
    out << fmt::format("  {:<12} {} {}{}{}, {} in all\n", "epochs", count.number, one, count.number == 1 ? "" : "s", of,
                       nanoseconds_text(count.wall));
  };
  print(starts, "start", " of the loader's processes");
  print(ends, "end", ": evaluation and the like");
}

void print_run(const Context& context, const db::StoredRun& stored, bool whole_log) {
  std::ostream& out = *context.out;
  const space::Run& run = stored.record.run;
  const bool ok = !stored.in_flight && run.outcome == space::Outcome::Ok;
  const std::string outcome = stored.in_flight ? "in flight, or interrupted" : std::string(space::to_text(run.outcome));
  out << '\n'
      << coloured(fmt::format("run {}", one_line(run.id)), Style::Strong, context.colour_out()) << " ("
      << space::to_text(run.purpose) << "): " << coloured(outcome, ok ? Style::Good : Style::Bad, context.colour_out());
  if (!run.reason.empty()) out << ": " << one_line(run.reason);
  out << fmt::format("\n  started      {}, took {}, CPU time {}\n", time_text(run.started_unix_ns),
                     nanoseconds_text(run.wall), nanoseconds_text(run.cpu));
  print_phases(out, run);
  print_samples(out, run);
  for (const space::Epoch& epoch : run.epochs) {
    out << fmt::format("  epoch {:<6} {}{}\n", epoch.index, nanoseconds_text(epoch.wall),
                       epoch.loss ? fmt::format(", loss {:.4g}", *epoch.loss) : "");
  }
  if (run.accuracy) {
    out << fmt::format("  accuracy     {:.2f} % of {} examples\n", 100 * run.accuracy->accuracy,
                       run.accuracy->examples);
  }
  print_curve(out, run);
  print_norms(out, run);
  if (run.memory) {
    out << fmt::format(
        "  memory       {} at its peak{}\n", bytes_text(run.memory->peak_rss_bytes),
        run.memory->device_bytes > 0 ? ", " + bytes_text(run.memory->device_bytes) + " on the device" : "");
  }
  if (run.device) print_device(out, *run.device);
  out << "  load         " << load_text(run.load) << '\n';
  for (const std::string& clause : measure::disturbances(run))
    out << "  disturbed    " << coloured(one_line(clause), Style::Warning, context.colour_out()) << '\n';
  if (!run.folder.empty()) out << "  folder       " << one_line(run.folder) << '\n';
  if (!run.command.empty())
    out << "  repeat with  " << broken_command(one_line(run.command), 15, context.columns) << '\n';
  if (!run.log_tail.empty() && (whole_log || !ok))
    print_log(out, run.log_tail, whole_log ? run.log_tail.size() + 1 : kLogLines);
}

/// A line for each run, and the last words of one that failed.
void print_runs(const Context& context, const db::CampaignSummary& campaign, const db::TrialDetail& detail) {
  std::ostream& out = *context.out;
  const bool disturbed = std::ranges::any_of(
      detail.runs, [](const db::StoredRun& each) { return !measure::disturbances(each.record.run).empty(); });
  std::vector<Column> columns = {{"run"}, {"outcome"}, {"took", Align::Right}, {"a step", Align::Right}};
  if (disturbed) columns.push_back({"disturbed", Align::Left, Fit::Wraps});
  Table table(std::move(columns));
  const db::StoredRun* failed = nullptr;
  for (const db::StoredRun& stored : detail.runs) {
    const space::Run& run = stored.record.run;
    const bool ok = !stored.in_flight && run.outcome == space::Outcome::Ok;
    if (!ok && !run.log_tail.empty()) failed = &stored;
    const std::vector<double> steps = measure::step_seconds(run);
    std::vector<Cell> cells = {
        Cell(std::string(space::to_text(run.purpose))),
        Cell(stored.in_flight ? "in flight" : std::string(space::to_text(run.outcome)), ok ? Style::Good : Style::Bad),
        nanoseconds_text(run.wall), steps.empty() ? std::string("–") : seconds_text(summarise_samples(steps).median)};
    if (disturbed) cells.emplace_back(fmt::format("{}", fmt::join(measure::disturbances(run), "; ")));
    table.add(std::move(cells));
  }
  out << '\n';
  table.print(context);
  if (failed != nullptr) print_log(out, failed->record.run.log_tail, kLogLines);
  out << '\n';
  print_command(
      context, "More",
      tuner::command_text("show", fmt::format("{} {} --runs", detail.stored.trial.number, words_for(campaign))));
}

void setup(CLI::App& subcommand, ShowOptions& options) {
  add_value(subcommand, "trial", options.trial, "TRIAL", "Number of the trial; 0 is the default configuration")
      ->required()
      ->check(whole_number(0));
  add_campaign_choice(subcommand, options.campaign);
  subcommand.add_flag("--runs", options.runs, "Print the whole configuration, and of each run all that is known");
  subcommand.add_flag("--log", options.log, "The same, with all that is kept of the worker's output");
  subcommand.add_flag("--samples", options.samples, "With --json: the raw samples too");
  subcommand.footer(
      "With --runs, the line after 'repeat with' runs the same again by hand.\n\n"
      "Examples:\n"
      "  nocturne show 0\n"
      "  nocturne show 17 mnist-evening --runs\n"
      "  nocturne show 17 --json --samples | jq '.runs[0].samples[].wall_ns'\n");
}

ExitCode run(const ShowOptions& options, Context& context) {
  const auto [store, campaign] = open_campaign(context, options.campaign);
  const auto detail = store.load_trial(store.load_numbered_trial(campaign.id, options.trial).id);
  const std::string chosen = why_chosen(store, campaign.id, options.trial);
  if (context.json) {
    nlohmann::json document = trial_row(detail.stored);
    document["chosen"] = chosen;
    if (const auto wait = tuner::data_wait_of(detail))
      document["data_wait"] = {{"step_s", wait->step_seconds}, {"share", wait->share}};
    document["runs"] =
        json_list(detail.runs, [&](const db::StoredRun& each) { return run_row(each, options.samples); });
    print_json(context, "show", document);
    return ExitCode::Ok;
  }
  print_trial(context, detail, tuner::objective_of(campaign.spec), chosen, tuner::default_settings_of(store, campaign));
  if (options.runs || options.log) {
    *context.out << "\nconfiguration  " << one_line(settings_line(detail.stored.trial.configuration)) << '\n';
    for (const db::StoredRun& each : detail.runs) print_run(context, each, options.log);
  } else if (!detail.runs.empty()) {
    print_runs(context, campaign, detail);
  }
  return ExitCode::Ok;
}

}  // namespace

SubcommandAction add_show(CLI::App& subcommand) {
  return add_options<ShowOptions>(subcommand);
}

}  // namespace nocturne::cli
