#include "tuner/cli/measuring/machine_measuring.hpp"

#include <chrono>
#include <ostream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "measure/machine/fingerprint.hpp"
#include "tuner/preview/forecast.hpp"
#include "tuner/roofline/machine_figures.hpp"
#include "tuner/roofline/programs.hpp"

namespace nocturne::cli {
namespace {

void say_of_machine(const Context& context, const std::string& sentence) {
  *context.err << sentence << '\n' << std::flush;
}

bool will_be_long(const tuner::CampaignSpec& spec, const db::Store& store) {
  const auto length = tuner::planned_length(spec, &store, std::chrono::system_clock::now());
  return !length || *length > tuner::kWatched;
}

tuner::MachineMeasuring measuring_of(const Context& context, const measure::MachineFacts& machine) {
  const auto say = [&context](const std::string& sentence) { say_of_machine(context, sentence); };
  return {.cpus = machine.allowed_cpus,
          .waiting =
              [say](const measure::SlotHolder& holder) {
                say("Waiting for the machine: " + measure::describe(holder) + ".");
              },
          .note = say};
}

/// Costs two seconds a figure, so it is done before a short campaign, too.
void measure_doubted_figures(const MachineMeasuringOptions& options, const Context& context, db::Store& store,
                             const measure::MachineFacts& machine, db::MachineFiguresRecord record) {
  const auto names = tuner::doubted_names(record.figures);
  if (names.empty()) return;
  say_of_machine(
      context, fmt::format("Measuring again what was doubtful of this machine's figures: {}.", fmt::join(names, ", ")));
  tuner::MachineMeasuring measuring = measuring_of(context, machine);
  measuring.programs = options.programs;
  measuring.slot_folder = options.slot_folder;
  auto figures = tuner::measure_doubted(record.figures, std::move(measuring));
  if (!figures) {
    say_of_machine(context, "They stay doubtful: " + figures.error());
    return;
  }
  record.figures = *std::move(figures);
  record.measured_unix_ns = 0;  // now
  store.save_machine_figures(record);
}

}  // namespace

void add_machine_measuring(CLI::App& subcommand, MachineMeasuringOptions& options) {
  CLI::Option* measure =
      subcommand.add_flag("--measure-machine", options.measure,
                          "First measure what this machine could do at best (about 20 s), even where that is known");
  subcommand.add_flag("--no-measure-machine", options.none, "Do not, however long the campaign will be")
      ->excludes(measure);
}

std::expected<db::MachineFiguresRecord, std::string> measure_this_machine(const Context& context, db::Store& store,
                                                                          const measure::MachineFacts& machine,
                                                                          double seconds,
                                                                          const std::filesystem::path& disk) {
  const space::Fingerprint fingerprint = measure::fingerprint_of(machine);
  say_of_machine(context, fmt::format("Measuring what this machine can do at best: about {:.0f} s.", seconds));
  tuner::MachineMeasuring measuring = measuring_of(context, machine);
  measuring.seconds = seconds;
  measuring.disk = disk;
  auto figures = tuner::measure_machine(measuring);
  if (!figures) return std::unexpected(figures.error());
  const auto earlier = store.machine_figures(tuner::figures_key(fingerprint));
  db::MachineFiguresRecord record{
      .key = tuner::figures_key(fingerprint),
      .fields = tuner::figure_fields(fingerprint),
      .figures = earlier ? tuner::settled_by_earlier(*std::move(figures), earlier->figures) : *std::move(figures)};
  if (const auto read = tuner::MachineFigures::from_json(record.figures, record.fields); !read)
    return std::unexpected(read.error());
  store.save_machine_figures(record);
  return store.machine_figures(record.key).value_or(record);
}

void know_machine(const MachineMeasuringOptions& options, const Context& context, const tuner::CampaignSpec& spec,
                  db::Store& store, const measure::MachineFacts& machine) {
  // Nothing is known of a command, so neither what it could do at best.
  const bool ours = spec.worker.command.empty() && spec.worker.own.empty();
  if (options.none || (!ours && !options.measure)) return;
  const auto known = store.machine_figures(tuner::figures_key(measure::fingerprint_of(machine)));
  bool has_figures = known.has_value();
  if (options.measure || (!has_figures && will_be_long(spec, store))) {
    const auto measured = measure_this_machine(
        context, store, machine, std::chrono::duration<double>(tuner::kFiguresTime).count(), context.runs_folder());
    if (!measured) {
      say_of_machine(context, "What this machine could do at best stays unknown: " + measured.error());
      return;
    }
    has_figures = true;
  } else if (has_figures) {
    measure_doubted_figures(options, context, store, machine, *known);
  }
  if (!has_figures || !ours || store.network(spec.workload.network)) return;
  const auto described = tuner::describe_network(spec.workload.network);
  // That it has no description matters where bounds are asked for, and is said there.
  if (described) store.save_network(spec.workload.network, *described);
}

}  // namespace nocturne::cli
