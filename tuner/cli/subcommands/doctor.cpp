// `nocturne doctor`: what this machine can run, what not, why, and what to install.

#include "tuner/cli/subcommand.hpp"

#include <chrono>
#include <future>
#include <ostream>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "measure/machine/machine.hpp"
#include "measure/run/runner.hpp"
#include "measure/supervisor/load.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/slurm_options.hpp"
#include "tuner/cli/measuring/measurement_context.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/cli/subcommands/doctor_cluster.hpp"
#include "tuner/doctor/machine_checks.hpp"
#include "tuner/doctor/place_checks.hpp"
#include "tuner/installation/installation.hpp"
#include "tuner/installation/own_workers.hpp"

namespace nocturne::cli {
namespace {

struct DoctorOptions {
  const CLI::Option* asks_cluster = nullptr;  ///< `--cluster`, with a name or without
  SlurmWords slurm;
};

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
  auto machine =
      std::async(std::launch::async, [&installation] { return measure::probe_machine(installation.machine_roots()); });
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
                                     tuner::check_compilers(facts, tuner::came_along()),
                                     tuner::check_headers(facts, tuner::came_along()),
                                     tuner::check_onednn(facts, tuner::came_along()),
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

/// `what`: of which can_measure() speaks, "this machine".
void print_findings(const std::vector<Diagnosis>& findings, const Context& context, std::string_view what,
                    std::string_view example) {
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
      << coloured(can ? fmt::format("{} can run campaigns{}.", what, example)
                      : fmt::format("{} cannot run campaigns yet; what is bad above says why.", what),
                  can ? Style::Good : Style::Bad, context.colour_out())
      << '\n';
  if (const std::string line = tuner::install_line(findings); !line.empty())
    out << (can ? "More could be tried after:  " : "To install:  ") << line << '\n';
}

void setup(CLI::App& subcommand, DoctorOptions& options) {
  for (const tuner::SlurmKey& key : tuner::slurm_keys()) {
    if (key.name == "time") continue;
    CLI::Option* option = add_slurm_option(subcommand, options.slurm, key);
    if (key.name == "nodes")
      option->description("With --cluster: ask so many nodes (default: those that are idle, 8 at most)");
    if (key.name == "cluster") {
      option->description("Look at a cluster instead: a registered infrastructure, or the one whose commands are here");
      options.asks_cluster = option->expected(0, 1)->type_name("[NAME]");
    }
  }
  subcommand.footer(
      "ok: as it should be. note: works, and is worth knowing. optional: missing, and what needs it cannot be tried.\n"
      "bad: no campaign can run; the exit code is 1 then. Changes nothing.\n"
      "\n"
      "With --cluster it looks at Slurm: commands, nodes, limits, and whether a job may queue itself again, by one\n"
      "that is held and cancelled. One short job asks idle nodes what they are, and whether each sees what the others\n"
      "write into the data folder; inside of a job its nodes are asked.\n"
      "\n"
      "Examples:\n"
      "  nocturne doctor\n"
      "  nocturne doctor --json | jq -r .install\n"
      "  nocturne doctor --cluster\n"
      "  nocturne doctor --cluster mycluster --partition gpu --nodes 4");
}

/// Ok where a campaign can run on nodes of the cluster, else Negative.
ExitCode run_on_cluster(const DoctorOptions& options, const Context& context) {
  const ClusterExamination found = examine_cluster(options.slurm, context);
  if (context.json) {
    nlohmann::json document = findings_json(found.findings);
    document["cluster"] = found.cluster;
    document["nodes"] = found.nodes;
    print_json(context, "doctor-cluster", document);
  } else {
    print_findings(found.findings, context, "This cluster", "");
  }
  return tuner::can_measure(found.findings) ? ExitCode::Ok : ExitCode::Negative;
}

/// Ok where a campaign such as examples/mnist.json can run, else Negative.
ExitCode run(const DoctorOptions& options, Context& context) {
  if (options.asks_cluster->count() > 0) return run_on_cluster(options, context);
  if (any_given(options.slurm)) return complain(context, ExitCode::Usage, "these options go with --cluster");
  const std::vector<Diagnosis> findings = examine(context);
  if (context.json)
    print_json(context, "doctor", findings_json(findings));
  else
    print_findings(findings, context, "This machine", ", such as examples/mnist.json");
  return tuner::can_measure(findings) ? ExitCode::Ok : ExitCode::Negative;
}

}  // namespace

SubcommandAction add_doctor(CLI::App& subcommand) {
  return add_options<DoctorOptions>(subcommand);
}

}  // namespace nocturne::cli
