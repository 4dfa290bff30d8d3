// `nocturne machine`: what this machine can do at best.

#include "tuner/cli/subcommand.hpp"

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "db/store.hpp"
#include "measure/machine/fingerprint.hpp"
#include "measure/machine/machine.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/measuring/machine_measuring.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/installation/installation.hpp"
#include "tuner/installation/invocation.hpp"
#include "tuner/roofline/described_machine.hpp"
#include "tuner/roofline/machine_figures.hpp"

namespace nocturne::cli {
namespace {

constexpr const char* kImport = "import";

struct MachineOptions {
  std::string action;  ///< empty, or kImport
  std::string file;    ///< that describes a machine
  bool measure = false;
  double seconds = 20;  ///< for all measurements
  std::string disk;     ///< a folder on the disk to measure; empty: where runs are kept
};

std::string words_of_figure(const tuner::Figure& figure) {
  std::string what = figure.name;
  if (figure.name.starts_with("fma_")) what = figure.name.substr(4) + " arithmetic";
  if (figure.name == "amx_bf16") what = "bf16 arithmetic in tiles";
  if (figure.name == "triad") what = "memory bandwidth";
  if (figure.name.starts_with("triad_l")) what = "L" + figure.name.substr(7) + " bandwidth";
  if (figure.name == "latency") what = "memory latency";
  if (figure.name.starts_with("latency_l")) what = "L" + figure.name.substr(9) + " latency";
  if (figure.name == "triad_node") what = fmt::format("bandwidth of node {}", figure.node);
  if (figure.name == "latency_node") what = fmt::format("latency of node {} to {}", figure.node, figure.memory_node);
  if (figure.name == "disk_write") what = "disk, written";
  if (figure.name == "disk_read") what = "disk, read";
  if (figure.name == "to_device") what = "copied to it";
  if (figure.name == "from_device") what = "copied from it";
  return what;
}

void add_figures(Table& table, const std::vector<tuner::Figure>& figures, const std::string& prefix) {
  for (const tuner::Figure& figure : figures) {
    const std::string what = prefix + words_of_figure(figure);
    if (!figure.absent.empty()) {
      table.add({Cell(what, Style::Faint), std::to_string(figure.threads), "–", "–", "–", figure.unit, figure.absent});
      continue;
    }
    const double best = figure.unit == "ns" ? figure.minimum : figure.maximum;
    const std::string by =
        figure.tries > 1 ? fmt::format("{}, the best of {} tries", figure.kernel, figure.tries) : figure.kernel;
    table.add({Cell(what), std::to_string(figure.threads),
               Cell(fmt::format("{:.1f}", best), figure.doubt.empty() ? Style::Strong : Style::Warning),
               fmt::format("{:.1f}", figure.median), percent_text(figure.relative_spread), figure.unit, by});
  }
}

void print_doubts(std::ostream& out, const std::vector<tuner::Figure>& figures) {
  for (const tuner::Figure& figure : figures) {
    if (figure.doubt.empty() || !figure.absent.empty()) continue;
    out << fmt::format(
        "\nDoubtful: {} with {} thread{}: {}. Something else ran meanwhile, or the machine grants less than it shows. "
        "The next campaign measures it again first; so does '{}'.\n",
        words_of_figure(figure), figure.threads, figure.threads == 1 ? "" : "s", one_line(figure.doubt),
        tuner::command_text({"machine", "--measure"}));
  }
}

ExitCode show_machine(const Context& context, const db::MachineFiguresRecord& record) {
  if (context.json) {
    print_json(
        context, "machine",
        {{"machine", record.fields}, {"measured", utc_text(record.measured_unix_ns)}, {"figures", record.figures}});
    return ExitCode::Ok;
  }
  const auto figures =
      value_or_refuse(context, ExitCode::Database, tuner::MachineFigures::from_json(record.figures, record.fields));
  std::ostream& out = *context.out;
  const bool described = record.key == tuner::described_key(record.fields.value("system.host", ""));
  out << fmt::format(
      "{}, {} {}\n\n",
      described ? record.fields.value("system.host", "") : record.fields.value("cpu.model", "this machine"),
      described ? "described" : "measured", time_text(record.measured_unix_ns));
  Table table({{"what"},
               {"threads", Align::Right},
               {"best", Align::Right},
               {"median", Align::Right},
               {"spread", Align::Right},
               {"unit"},
               {"by"}});
  add_figures(table, figures.figures, "");
  for (const tuner::GpuFigures& gpu : figures.gpus) add_figures(table, gpu.figures, gpu.name + ": ");
  table.print(context);
  print_doubts(out, figures.figures);
  return ExitCode::Ok;
}

ExitCode measure_and_show(const MachineOptions& options, const Context& context, const measure::MachineFacts& machine) {
  value_or_refuse(context, ExitCode::Unavailable, context.make_folders());
  auto store = open_database(context, db::Mode::ReadWrite);
  const auto folder = options.disk.empty() ? context.runs_folder() : std::filesystem::path(options.disk);
  const auto measured = measure_this_machine(context, store, machine, options.seconds, folder);
  return show_machine(context, value_or_refuse(context, ExitCode::Unavailable, measured));
}

/// Keeps what a file says of a machine that is not here; replaces an earlier description of that name.
ExitCode import_machine(const MachineOptions& options, Context& context) {
  const auto record =
      value_or_refuse(context, tuner::read_described_machine(text_or_refuse(context, options.file), options.file));
  value_or_refuse(context, ExitCode::Usage, tuner::MachineFigures::from_json(record.figures, record.fields));
  value_or_refuse(context, ExitCode::Unavailable, context.make_folders());
  auto store = open_database(context, db::Mode::ReadWrite);
  store.save_machine_figures(record);
  return show_machine(context, store.machine_figures(record.key).value_or(record));
}

void setup(CLI::App& subcommand, MachineOptions& options) {
  CLI::Option* action =
      add_value(subcommand, "action", options.action, "ACTION", "import: keeps what FILE says of another machine")
          ->check([](const std::string& word) { return only_action(word, kImport); });
  CLI::Option* file = add_value(subcommand, "file", options.file, "FILE",
                                "Peak figures of a machine that is not here ('nocturne schema machine-file')");
  action->needs(file);
  CLI::Option* measure =
      subcommand.add_flag("--measure", options.measure, "Measure it now, and keep that with the machine's fingerprint")
          ->excludes(action);
  add_value(subcommand, "--seconds", options.seconds, "S",
            "Time for all measurements together, 0.01 to 600 (default: 20)", number_within(0.01, 600))
      ->needs(measure);
  add_value(subcommand, "--disk", options.disk, "FOLDER",
            "A folder on the disk to measure (default: where runs are kept)")
      ->check(CLI::ExistingDirectory)
      ->needs(measure);
  subcommand.footer(
      "Measures operations a second in f32 and bf16 (in vectors and, with AMX, in tiles), bandwidth and latency of\n"
      "each cache and of memory, with one thread and with all, the disk, and GPUs if nocturne-cudnn is beside\n"
      "nocturne. 'best' is the most of some repeats, for latencies the least: what the machine can do. The median\n"
      "is what other programs left of it. At most 256 MiB are written to the disk, to a file without a name.\n"
      "Nothing else should run meanwhile; the command waits for campaigns that measure. Two threads on two cores\n"
      "that are no faster than one are not believed: such figures are measured up to four times, and doubtful ones\n"
      "again before the next campaign.\n"
      "\n"
      "'nocturne roofline' compares configurations with these figures, 'nocturne space' estimates a first step from\n"
      "them, and the model of a campaign that begins afterwards uses them. 'tune' measures a new machine by itself\n"
      "before a campaign of more than half an hour. Another kernel, microcode or clock rate makes it a new machine.\n"
      "\n"
      "A machine that is only described, by the figures of its data sheet, is one that\n"
      "'nocturne predict --machine NAME' can be asked about.\n"
      "\n"
      "Examples:\n"
      "  nocturne machine\n"
      "  nocturne machine --measure\n"
      "  nocturne machine --measure --seconds 5 --disk /tmp --json\n"
      "  nocturne machine import examples/machines/epyc-9654.json\n");
}

/// NotFound where it was not measured yet; Unavailable where it cannot be.
ExitCode run(const MachineOptions& options, Context& context) {
  if (options.action == kImport) return import_machine(options, context);
  const tuner::Installation installation = tuner::find_installation();
  const measure::MachineFacts machine = measure::probe_machine(installation.machine_roots());
  if (options.measure) return measure_and_show(options, context, machine);
  const std::string unknown =
      fmt::format("what this machine can do at best was not measured yet: '{}' does it, in about 20 s",
                  tuner::command_text({"machine", "--measure"}));
  const auto store = open_known_database(context);
  if (!store) refuse(context, ExitCode::NotFound, unknown);
  const auto known = store->machine_figures(tuner::figures_key(measure::fingerprint_of(machine)));
  if (!known) refuse(context, ExitCode::NotFound, unknown);
  return show_machine(context, *known);
}

}  // namespace

SubcommandAction add_machine(CLI::App& subcommand) {
  return add_options<MachineOptions>(subcommand);
}

}  // namespace nocturne::cli
