// `nocturne init`: a commented campaign file for this machine.

#include "tuner/cli/subcommand.hpp"

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <set>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "measure/machine/fingerprint.hpp"
#include "measure/machine/machine.hpp"
#include "measure/run/launch.hpp"
#include "space/write_file.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/measuring/measurement_context.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/installation/installation.hpp"
#include "tuner/installation/invocation.hpp"
#include "tuner/preview/first_campaign.hpp"

namespace nocturne::cli {
namespace {

struct InitOptions {
  std::string file = "campaign.json";
  bool force = false;
};

/// Each once, under the name that comes first; GCC's before others, for the first is the default.
std::vector<std::string> different_compilers(const std::vector<measure::Compiler>& compilers) {
  std::set<std::filesystem::path> programs;
  std::vector<std::string> names;
  for (const measure::Compiler& each : compilers) {
    std::error_code unknown;
    const auto program = std::filesystem::weakly_canonical(each.path, unknown);
    if (unknown || programs.insert(program).second) names.push_back(each.name);
  }
  std::ranges::stable_partition(names, [](const std::string& name) { return name.starts_with("g++"); });
  return names;
}

/// The CPU's alone: what a GPU could train has examples of its own.
tuner::FoundHere look_here(const InitOptions& options, const measure::MachineFacts& machine,
                           const tuner::Frameworks& frameworks) {
  tuner::FoundHere found{.file = options.file == "-" ? "FILE" : options.file,
                         .cpu_model = machine.cpu_model,
                         .cores = machine.usable_cores(),
                         .memory_bytes = machine.usable_memory_bytes(),
                         .has_bf16 = measure::has_isa(machine, "avx512_bf16") || measure::has_isa(machine, "amx_bf16"),
                         .has_avx512 = measure::has_isa(machine, "avx512f"),
                         .allocators = machine.allocators};
  const measure::LaunchMachine placing = measure::probe_launch_machine();
  found.affinities = measure::distinct_affinities(placing);
  found.memory_policies = measure::distinct_memory_policies(placing);
  if (!machine.cores_by_kind.empty()) found.fast_cores = machine.usable_fast_cores();
  if (machine.can_build()) found.compilers = different_compilers(machine.compilers);
  for (const std::string& name : frameworks.names()) {
    if (name.contains("cuda") || name.contains("cudnn") || !frameworks.obstacle(name).empty()) continue;
    const bool own = frameworks.recipe(name) == nullptr;
    const bool ready = own || frameworks.installed(name).has_value();
    (ready ? found.frameworks : found.more).push_back(name);
  }
  return found;
}

void setup(CLI::App& subcommand, InitOptions& options) {
  add_value(subcommand, "file", options.file, "FILE", "Where to write it; '-' prints it (default: campaign.json)");
  subcommand.add_flag("--force", options.force, "Replace the file where there is one");
  subcommand.footer(
      "Asks nothing and measures nothing: looks at the processor, the compilers, the allocators and the frameworks\n"
      "that are installed, and writes a campaign that varies what this machine has. Each parameter has a comment.\n"
      "\n"
      "Examples:\n"
      "  nocturne init\n"
      "  nocturne init night.json\n"
      "  nocturne init - > night.json");
}

/// Usage where the file is there already; Unavailable where nothing here can train.
ExitCode run(const InitOptions& options, Context& context) {
  std::error_code ignored;
  if (std::filesystem::is_directory(options.file, ignored)) {
    return complain(context, ExitCode::Usage,
                    fmt::format("{} is a folder: name the file in it, such as {}", options.file,
                                (std::filesystem::path(options.file) / "campaign.json").string()));
  }
  if (options.file != "-" && !options.force && std::filesystem::exists(options.file, ignored))
    return complain(context, ExitCode::Usage, fmt::format("{} is there already; --force replaces it", options.file));
  const tuner::Installation installation = tuner::find_installation();
  const auto frameworks = frameworks_here(context, installation);
  const measure::MachineFacts machine = measure::probe_machine(installation.machine_roots());
  const tuner::FoundHere found = look_here(options, machine, *frameworks);
  if (found.frameworks.empty()) {
    return complain(context, ExitCode::Unavailable,
                    fmt::format("nothing that trains is installed here; '{}' says what is missing, and your own "
                                "training needs no campaign file: '{}'",
                                tuner::command_text({"doctor"}), tuner::command_text("tune", "-- COMMAND")));
  }
  const std::string text = tuner::first_campaign(found);
  // What is written can be read.
  const auto spec = value_or_refuse(
      context, tuner::parse_campaign(text, found.file, "/", measure::facts_of(machine), frameworks.get()));
  if (options.file == "-") {
    context.verbatim() << text;
    return ExitCode::Ok;
  }
  const auto file = std::filesystem::absolute(options.file).lexically_normal();
  value_or_refuse(context, ExitCode::Unavailable, space::write_file(file, text));
  if (context.json) {
    print_json(context, "init",
               {{"file", file.string()},
                {"campaign", spec.name},
                {"frameworks", found.frameworks},
                {"parameters", spec.space.to_json()["parameters"]}});
  } else {
    *context.out << fmt::format("Wrote {}: {} parameters, {}. Next: {}\n", options.file, spec.space.parameters().size(),
                                fmt::join(found.frameworks, ", "),
                                tuner::command_text({"tune", options.file, "--dry-run"}));
  }
  return ExitCode::Ok;
}

}  // namespace

SubcommandAction add_init(CLI::App& subcommand) {
  return add_options<InitOptions>(subcommand);
}

}  // namespace nocturne::cli
