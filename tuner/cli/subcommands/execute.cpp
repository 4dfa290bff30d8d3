// `nocturne execute`: carries one order out, prints its answer, and is gone.

#include "tuner/cli/subcommand.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <istream>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "measure/run/sweep.hpp"
#include "space/file_contents.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/campaign_file/quantity.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/measuring/measurement_context.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/executor/carry_out.hpp"
#include "tuner/executor/order_json.hpp"
#include "tuner/executor/slurm/allocation.hpp"
#include "tuner/executor/slurm/job.hpp"
#include "tuner/executor/slurm/rhythm.hpp"
#include "tuner/executor/slurm/watch.hpp"

namespace nocturne::cli {
namespace {

/// Longer times would not fit into the clock.
constexpr std::chrono::nanoseconds kLongestPreparation = std::chrono::days(1000);

struct ExecuteOptions {
  std::string file = "-";
  std::string beat;   ///< how often it gives a sign of life; empty: never
  std::string watch;  ///< a file that is written while the coordinator of this job lives; empty: there is an order
};

/// Signs of life, for whoever listens on another machine: while it lives, empty lines go to standard error. Where these
/// cannot go there any more nobody waits for the answer, and this process is told to end.
class Beat {
 public:
  explicit Beat(std::chrono::milliseconds pause) {
    thread_ = std::jthread([pause](const std::stop_token& stop) {
      do {
        // Politely first; at the next beat it is told again, and ends at once.
        if (::write(STDERR_FILENO, "\n", 1) < 0 && errno == EPIPE) ::kill(::getpid(), SIGTERM);
      } while (tuner::pause_for(pause, stop));
    });
  }

 private:
  std::jthread thread_;
};

std::string standard_input(const Context& context, std::size_t most) {
  std::string text(context.in != nullptr ? most : 0, '\0');
  if (context.in == nullptr) return text;
  context.in->read(text.data(), static_cast<std::streamsize>(most));
  text.resize(static_cast<std::size_t>(context.in->gcount()));
  return text;
}

/// Throws Refusal.
tuner::Order read_order(const ExecuteOptions& options, const Context& context) {
  constexpr std::size_t kMost = tuner::kLongestOrderBytes + 1;
  const auto text = options.file == "-" ? standard_input(context, kMost) : space::read_file(options.file, kMost);
  if (!text) refuse(context, ExitCode::Usage, options.file + " cannot be read");
  auto order = tuner::order_from_text(*text);
  if (!order) refuse(context, ExitCode::Usage, fmt::format("this is no order: {}", one_line(order.error())));
  return *std::move(order);
}

/// The campaign of an order, as this machine reads it. Throws Refusal.
tuner::CampaignSpec campaign_of(const tuner::Order& order, const Context& context,
                                const MeasurementContext& measuring) {
  auto spec = value_or_refuse(context, tuner::parse_campaign(order.document.dump(), "document", "/", measuring.facts(),
                                                             &measuring.frameworks()));
  spec.run.process_sd = order.process_sd;
  return spec;
}

tuner::OrderEnd end_of(const tuner::TaskAnswer& answer) {
  return std::visit(
      [](const auto& each) {
        if constexpr (requires { each.end; }) return each.end;
        return tuner::OrderEnd::Finished;
      },
      answer);
}

/// Blocks until the coordinator of this job is gone, and sees to the job in its place. Throws Refusal.
ExitCode watch_coordinator(const std::string& beat, const Context& context) {
  auto allocation = value_or_refuse(context, ExitCode::Unavailable, tuner::present_allocation(context.environment));
  if (!allocation) refuse(context, ExitCode::Usage, "--watch: this process is in no job of Slurm");
  allocation->batch = true;  // for the one that was
  const tuner::WatchedJob job{.commands = value_or_refuse(context, ExitCode::Unavailable, tuner::SlurmCommands::find()),
                              .allocation = *std::move(allocation),
                              .script = context.variable(tuner::kScriptVariable).value_or(""),
                              .beat = beat};
  const auto say = [&](const std::string& sentence) { *context.err << sentence << '\n' << std::flush; };
  return tuner::watch_over(job, say) ? ExitCode::Ok : ExitCode::Unavailable;
}

void setup(CLI::App& subcommand, ExecuteOptions& options) {
  auto* file = add_value(subcommand, "file", options.file, "FILE", "The order, or '-': standard input (default: -)");
  add_value(subcommand, "--watch", options.watch, "FILE",
            "Instead, in a job of Slurm: queue it again when this file, which its coordinator writes, is silent")
      ->excludes(file);
  add_value(subcommand, "--beat", options.beat, "DURATION",
            "Signs of life: an empty line on standard error that often, until the answer is printed", time_span());
  subcommand.footer(
      "An order is one thing to do on one machine: describe it, prepare a software stack, run a trial, run a pair, or\n"
      "one run of the gate. Its answer goes to standard output, whole or not at all: runs with raw samples, phases\n"
      "and outcomes, and the machine's fingerprint. A failed trial is an answer. No database is opened. So another\n"
      "machine of the same class, with the same data folder, can measure for a campaign. 'nocturne schema order' and\n"
      "'nocturne schema answer' describe both. A trial, where DOCUMENT is a campaign file without comments:\n"
      "\n"
      "  {\"schema\": \"order\", \"version\": 4, \"document\": DOCUMENT,\n"
      "   \"process_sd\": 0.05, \"cpus\": [], \"runs_folder\": \"\", \"prepare_within_ns\": null,\n"
      "   \"trial\": {\"number\": 0, \"configuration\": {\"batch\": 128},\n"
      "             \"purpose\": \"search\", \"incumbent\": null, \"expected\": null, \"limit_ns\": null}}\n"
      "\n"
      "Examples:\n"
      "  nocturne execute order.json > answer.json\n"
      "  ssh node nocturne execute < order.json > answer.json");
}

ExitCode run(const ExecuteOptions& options, Context& context) {
  if (!options.watch.empty()) return watch_coordinator(options.watch, context);
  std::optional<Beat> beat;
  if (!options.beat.empty()) {
    beat.emplace(std::chrono::ceil<std::chrono::milliseconds>(
        value_or_refuse(context, ExitCode::Usage, tuner::parse_duration(options.beat), "--beat: ")));
  }
  const tuner::Order order = read_order(options, context);
  MeasurementContext measuring(context);
  const tuner::CampaignSpec spec = campaign_of(order, context, measuring);

  (void)measure::sweep();  // what a killed one left
  measuring.listen({}, tuner::DefaultSettings(spec.document, {}));
  if (order.prepare_within) {
    using std::chrono::steady_clock;
    const auto end = steady_clock::now() + std::min(*order.prepare_within, kLongestPreparation);
    measuring.interruption().prepare_until(end, {});
  }
  auto folders = measuring.executor_options();
  if (!order.runs_folder.empty()) folders.runs_folder = order.runs_folder;
  folders.installing = [&](std::string_view line) { measuring.display().installing(std::string(line)); };
  folders.local_folder = context.variable(tuner::kLocalFolderVariable).value_or("");
  std::vector<std::string> notes;
  folders.note = [&](const std::string& sentence) { notes.push_back(sentence); };
  tuner::LocalExecutor executor(spec, std::move(folders));
  if (const auto cpus = executor.cpus(); !order.cpus.empty() && order.cpus != cpus) {
    return complain(context, ExitCode::Unavailable,
                    fmt::format("the order is for the CPUs {}, and this process may use {}", fmt::join(order.cpus, ","),
                                fmt::join(cpus, ",")));
  }
  const std::string images = tuner::data_state(spec.workload);
  const std::filesystem::path machine_wide;
  auto answer = tuner::carry_out(order.task, {.spec = spec,
                                              .executor = executor,
                                              .observer = measuring.display(),
                                              .interruption = measuring.interruption(),
                                              .fingerprint = measuring.fingerprint(),
                                              .images = images,
                                              .slot_folder = machine_wide});
  answer.notes = std::move(notes);
  measuring.display().clear();
  print_json(context, "answer", tuner::to_json(answer));
  if (measuring.interrupted()) return measuring.interruption_code();
  return left_to_the_next_session(end_of(answer.result)) ? ExitCode::Unavailable : ExitCode::Ok;
}

}  // namespace

SubcommandAction add_execute(CLI::App& subcommand) {
  return add_options<ExecuteOptions>(subcommand);
}

}  // namespace nocturne::cli
