// `nocturne env check`: does it import, does it train?

#include <chrono>
#include <ostream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "measure/artifact/process.hpp"
#include "measure/machine/fingerprint.hpp"
#include "measure/machine/machine.hpp"
#include "measure/run/slot.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/measuring/measuring.hpp"
#include "tuner/cli/measuring/signals.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/subcommands/env_actions.hpp"
#include "tuner/executor/interruption.hpp"
#include "tuner/executor/local_executor.hpp"
#include "tuner/installation/installation.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::cli {
namespace {

constexpr std::int64_t kCheckSteps = 3;
constexpr std::chrono::minutes kImportDeadline{5};

struct Checked {
  bool good = false;
  std::string reason;  ///< why not
  std::optional<space::Run> run;
};

/// A campaign of one configuration; nothing is installed for it.
std::string check_campaign(const measure::EnvironmentRecipe& recipe) {
  nlohmann::json parameters = nlohmann::json::array();
  parameters.push_back(
      {{"name", "framework"}, {"stage", "environment"}, {"values", nlohmann::json::array({recipe.name})}});
  parameters.push_back({{"name", "batch"}, {"stage", "run"}, {"values", nlohmann::json::array({32})}});
  if (!recipe.graph_compilers.empty()) {
    const nlohmann::json usual = nlohmann::json::array({recipe.graph_compilers.front()});
    parameters.push_back({{"name", "graph_compiler"}, {"stage", "compile"}, {"values", usual}});
  }
  const nlohmann::json document = {{"campaign", "env-check"},
                                   {"space", {{"parameters", parameters}}},
                                   {"environments", {{"install", false}}},
                                   {"run", {{"steps", kCheckSteps}, {"deadline", "5min"}}}};
  return document.dump();
}

std::string import_error(const measure::Environment& environment, const measure::EnvironmentRecipe& recipe,
                         const std::stop_token& stop) {
  if (recipe.imports.empty()) return {};
  measure::Command command{.argv = {environment.python.string(), "-I", "-c",
                                    "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)"}};
  command.argv.insert(command.argv.end(), recipe.imports.begin(), recipe.imports.end());
  command.variables = measure::variables_of(recipe, environment.folder);
  const auto said = measure::command_output(command, std::chrono::steady_clock::now() + kImportDeadline, stop);
  return said ? std::string() : said.error();
}

Checked check(const measure::EnvironmentRecipe& recipe, const EnvOrder& order, const Context& context,
              const tuner::Interruption& interruption) {
  if (std::string reason = why_not_checked(recipe, order, interruption.token()); !reason.empty()) {
    return {.reason = std::move(reason)};
  }
  const tuner::Installation installation = tuner::find_installation();
  const measure::MachineFacts machine = measure::probe_machine({.onednn_prefix = installation.onednn_prefix});
  const auto spec = tuner::parse_campaign(check_campaign(recipe), "env-check", "/", measure::facts_of(machine),
                                          order.frameworks.get());
  if (!spec) return {.reason = one_line(tuner::to_text(spec.error()))};
  tuner::LocalExecutor executor(*spec, executor_options(context, installation, machine, order.frameworks));
  const space::Configuration& configuration = spec->space.default_configuration();
  const auto prepared = executor.prepare(configuration, interruption.token());
  if (!prepared) return {.reason = prepared.error().reason};
  const measure::RunPlan plan =
      executor.plan(configuration, *prepared, {.purpose = space::Purpose::Gate, .steps = kCheckSteps, .deadline = {}});
  Checked checked{.run = executor.run(plan, {.stop = interruption.token()})};
  checked.good = checked.run->outcome == space::Outcome::Ok;
  if (!checked.good) {
    checked.reason = fmt::format("{}: {} (its log: {})", space::to_text(checked.run->outcome), checked.run->reason,
                                 (plan.folder / "log.txt").string());
    return checked;
  }
  std::error_code ignored;
  std::filesystem::remove_all(plan.folder, ignored);
  return checked;
}

std::string good_text(const space::Run& run) {
  std::string text = "trains";
  if (!run.samples.empty() && run.samples.back().steps > 0) {
    text +=
        fmt::format(", {} a step of 32 examples", nanoseconds_text(run.samples.back().wall / run.samples.back().steps));
  }
  for (const space::Phase& phase : run.phases) {
    if (phase.name == "import") text += fmt::format(", imported in {}", nanoseconds_text(phase.wall));
  }
  const auto versions = run.ready.find("versions");
  if (versions != run.ready.end() && versions->is_object()) {
    for (const auto& [name, version] : versions->items()) {
      text += fmt::format("; {} {}", name, version.is_string() ? version.get<std::string>() : version.dump());
    }
  }
  return text;
}

}  // namespace

std::string why_not_checked(const measure::EnvironmentRecipe& recipe, const EnvOrder& order,
                            const std::stop_token& stop) {
  if (recipe.kind == measure::RecipeKind::Image) {
    return "is in a container's image: 'nocturne tune --preflight' of a campaign with the parameter container trains "
           "it";
  }
  const auto environment = order.frameworks->installed(recipe.name);
  if (!environment) {
    if (!recipe.is_installed()) return {};
    return fmt::format("is not installed: '{}' does that", tuner::command_text({"env", "install", recipe.name}));
  }
  const std::string error = import_error(*environment, recipe, stop);
  return error.empty() ? error : "does not import: " + error;
}

ExitCode check_environments(const EnvOrder& order, Context& context) {
  if (const auto made = context.make_folders(); !made) return complain(context, ExitCode::Unavailable, made.error());
  if (const std::string missing = missing_supervisor(); !missing.empty()) {
    return complain(context, ExitCode::Unavailable, missing);
  }
  tuner::Interruption interruption;
  const SignalWatch signals(interruption, {});
  // A run beside somebody's measurement would spoil it.
  const auto slot = measure::SlotLock::take(measure::Slot{}, "env check",
                                            [&context](const measure::SlotHolder& holder) {
                                              *context.err << "Waiting: " << measure::describe(holder) << '\n'
                                                           << std::flush;
                                            },
                                            interruption.waiting_token(), {});
  if (!slot) return complain(context, ExitCode::Unavailable, slot.error().error);
  if (order.options.thorough) {
    const ExitCode code = check_thoroughly(order, context, interruption);
    return code == ExitCode::Interrupted ? signals.interruption_code() : code;
  }
  nlohmann::json document = nlohmann::json::array();
  ExitCode code = ExitCode::Ok;
  for (const measure::EnvironmentRecipe* recipe : order.recipes) {
    const Checked checked = check(*recipe, order, context, interruption);
    document.push_back({{"name", recipe->name}, {"good", checked.good}, {"reason", checked.reason}});
    if (checked.good) document.back()["ready"] = checked.run->ready;
    if (!context.json) {
      *(checked.good ? context.out : context.err)
          << recipe->name << ": " << (checked.good ? good_text(*checked.run) : checked.reason) << '\n'
          << std::flush;
    }
    if (interruption.requested()) {
      code = signals.interruption_code();
      break;
    }
    if (!checked.good) code = ExitCode::Negative;
  }
  if (context.json) print_json(context, "env-check", {{"environments", document}});
  return code;
}

}  // namespace nocturne::cli
