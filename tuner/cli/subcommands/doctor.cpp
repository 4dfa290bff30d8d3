// `nocturne doctor`: what this machine can run, what not, why, and what to install.

#include "tuner/cli/subcommand.hpp"

#include <chrono>
#include <future>
#include <ostream>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "measure/machine/machine.hpp"
#include "measure/run/runner.hpp"
#include "measure/supervisor/load.hpp"
#include "tuner/cli/measuring/measurement_context.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/doctor/machine_checks.hpp"
#include "tuner/doctor/place_checks.hpp"
#include "tuner/installation/installation.hpp"
#include "tuner/installation/own_workers.hpp"

namespace nocturne::cli {
namespace {

struct DoctorOptions {};

using tuner::Diagnosis;
using tuner::Health;

// Long enough for the kernel's ticks (10 ms) to show a neighbour that takes a twentieth of the machine.
constexpr std::chrono::milliseconds kLook{200};

space::Load look_at_load() {
  const auto before = measure::read_load();
  std::this_thread::sleep_for(kLook);
  return measure::load_between(before, measure::read_load(), std::chrono::nanoseconds(0));
}

std::filesystem::path gpu_worker() {
  const tuner::WorkerRecipe* worker = tuner::find_worker("cudnn");
  return worker != nullptr ? tuner::find_shipped(*worker) : std::filesystem::path();
}

std::vector<Diagnosis> examine(const Context& context) {
  const tuner::Installation installation = tuner::find_installation();
  // What asks other programs goes beside each other; the look at the load comes when all of them are gone.
  auto runtimes = std::async(std::launch::async, tuner::probe_runtimes);
  auto machine = std::async(std::launch::async, [&installation] {
    return measure::probe_machine({.root = "/", .onednn_prefix = installation.onednn_prefix});
  });
  auto data =
      std::async(std::launch::async, [&installation] { return tuner::check_data(installation.data_set("mnist")); });
  const Diagnosis frameworks = tuner::check_frameworks(*frameworks_here(context, installation));
  const measure::MachineFacts facts = machine.get();
  const std::vector<Diagnosis> containers = tuner::check_containers(runtimes.get());
  std::vector<Diagnosis> findings = {tuner::check_processor(facts),
                                     tuner::check_instructions(facts),
                                     tuner::check_memory(facts),
                                     tuner::check_gpu(facts),
                                     tuner::check_gpu_worker(tuner::sees_gpu(), gpu_worker()),
                                     tuner::check_compilers(facts),
                                     tuner::check_onednn(facts),
                                     tuner::check_sources(installation.source_root),
                                     tuner::check_supervisor(measure::find_supervisor()),
                                     data.get(),
                                     tuner::check_database(context.database()),
                                     tuner::check_disk(context.data_folder()),
                                     tuner::check_slot(),
                                     tuner::check_allocators(facts),
                                     frameworks,
                                     tuner::check_huge_pages(facts),
                                     tuner::check_steadiness(facts),
                                     tuner::check_quiet(facts, look_at_load())};
  findings.insert(findings.end() - 3, containers.begin(), containers.end());
  return findings;
}

Style style_of(Health health) {
  switch (health) {
    case Health::Good:
      return Style::Good;
    case Health::Bad:
      return Style::Bad;
    case Health::Note:
    case Health::Optional:
      return Style::Warning;
  }
  return Style::Plain;
}

nlohmann::json findings_json(const std::vector<Diagnosis>& findings) {
  nlohmann::json list = nlohmann::json::array();
  for (const Diagnosis& finding : findings) {
    list.push_back({{"subject", finding.subject},
                    {"health", tuner::to_text(finding.health)},
                    {"found", finding.found},
                    {"meaning", finding.meaning},
                    {"packages", finding.packages}});
  }
  return {
      {"can_measure", tuner::can_measure(findings)}, {"install", tuner::install_line(findings)}, {"findings", list}};
}

void print_findings(const std::vector<Diagnosis>& findings, const Context& context) {
  Table table({{""}, {"subject"}, {"found", Align::Left, Fit::Wraps}});
  for (const Diagnosis& finding : findings) {
    const bool good = finding.health == Health::Good;
    table.add({Cell(good ? "ok" : std::string(tuner::to_text(finding.health)), style_of(finding.health)),
               Cell(finding.subject, Style::Strong),
               finding.found + (finding.meaning.empty() ? "" : ": " + finding.meaning)});
  }
  table.print(context);
  std::ostream& out = *context.out;
  const bool can = tuner::can_measure(findings);
  out << '\n'
      << coloured(can ? "This machine can run campaigns, such as examples/mnist.json."
                      : "This machine cannot run campaigns yet; what is bad above says why.",
                  can ? Style::Good : Style::Bad, context.colour_out())
      << '\n';
  if (const std::string line = tuner::install_line(findings); !line.empty())
    out << (can ? "More could be tried after:  " : "To install:  ") << line << '\n';
}

void setup(CLI::App& subcommand, DoctorOptions&) {
  subcommand.footer(
      "ok: as it should be. note: works, and is worth knowing. optional: missing, and what needs it cannot be tried.\n"
      "bad: no campaign can run; the exit code is 1 then. Changes nothing.\n"
      "\n"
      "Examples:\n"
      "  nocturne doctor\n"
      "  nocturne doctor --json | jq -r .install");
}

/// Ok where a campaign such as examples/mnist.json can run, else Negative.
ExitCode run(const DoctorOptions&, Context& context) {
  const std::vector<Diagnosis> findings = examine(context);
  if (context.json)
    print_json(context, "doctor", findings_json(findings));
  else
    print_findings(findings, context);
  return tuner::can_measure(findings) ? ExitCode::Ok : ExitCode::Negative;
}

}  // namespace

SubcommandAction add_doctor(CLI::App& subcommand) {
  return add_options<DoctorOptions>(subcommand);
}

}  // namespace nocturne::cli
