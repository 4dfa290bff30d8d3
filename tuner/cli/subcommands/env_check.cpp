// `nocturne env check`: does it import, does it train?

#include "tuner/cli/subcommands/env.hpp"

#include <algorithm>
#include <chrono>
#include <expected>
#include <ostream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "measure/artifact/process.hpp"
#include "measure/machine/fingerprint.hpp"
#include "measure/machine/machine.hpp"
#include "measure/run/slot.hpp"
#include "space/nearest.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/campaign_file/parameter_names.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/measuring/measurement_context.hpp"
#include "tuner/cli/measuring/signals.hpp"
#include "tuner/cli/output/checked_trainings.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/executor/interruption.hpp"
#include "tuner/executor/local_executor.hpp"
#include "tuner/installation/installation.hpp"
#include "tuner/installation/invocation.hpp"
#include "tuner/own_command/variation.hpp"

namespace nocturne::cli {
namespace {

constexpr std::int64_t kCheckSteps = 3;
constexpr std::chrono::minutes kImportDeadline{5};

struct EnvironmentCheck {
  bool good = false;
  std::string reason;  ///< why not
  std::optional<space::Run> run;
};

/// A campaign for which nothing is installed.
std::string campaign_text(const nlohmann::json& parameters, const nlohmann::json& run) {
  const nlohmann::json document = {{"campaign", "env-check"},
                                   {"space", {{"parameters", parameters}}},
                                   {"environments", {{"install", false}}},
                                   {"run", run}};
  return document.dump();
}

/// One configuration.
std::string check_campaign(const measure::EnvironmentRecipe& recipe) {
  nlohmann::json parameters = nlohmann::json::array();
  parameters.push_back(
      {{"name", "framework"}, {"stage", "environment"}, {"values", nlohmann::json::array({recipe.name})}});
  parameters.push_back({{"name", "batch"}, {"stage", "run"}, {"values", nlohmann::json::array({32})}});
  if (!recipe.graph_compilers.empty()) {
    const nlohmann::json usual = nlohmann::json::array({recipe.graph_compilers.front()});
    parameters.push_back({{"name", "graph_compiler"}, {"stage", "compile"}, {"values", usual}});
  }
  return campaign_text(parameters, {{"steps", kCheckSteps}, {"deadline", "5min"}});
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

EnvironmentCheck check(const measure::EnvironmentRecipe& recipe, const EnvOrder& order, const Context& context,
                       const tuner::Interruption& interruption) {
  if (std::string reason = why_not_checked(recipe, order, interruption.token()); !reason.empty())
    return {.reason = std::move(reason)};
  const tuner::Installation installation = tuner::find_installation();
  const measure::MachineFacts machine = measure::probe_machine(installation.machine_roots());
  const auto spec = tuner::parse_campaign(check_campaign(recipe), "env-check", "/", measure::facts_of(machine),
                                          order.frameworks.get());
  if (!spec) return {.reason = one_line(tuner::to_sentence(spec.error()))};
  tuner::LocalExecutor executor(*spec, executor_options(context, installation, machine, order.frameworks));
  const space::Configuration& configuration = spec->space.default_configuration();
  const auto prepared = executor.prepare(configuration, interruption.waiting_token());
  if (!prepared) return {.reason = prepared.error().reason};
  const measure::RunPlan plan =
      executor.plan(configuration, *prepared, {.purpose = space::Purpose::Gate, .steps = kCheckSteps});
  EnvironmentCheck checked{.run = executor.run(plan, {.stop = interruption.token()})};
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
  for (const space::Phase& phase : run.phases)
    if (phase.name == "import") text += fmt::format(", imported in {}", nanoseconds_text(phase.wall));
  const auto versions = run.ready.find("versions");
  if (versions != run.ready.end() && versions->is_object())
    for (const auto& [name, version] : versions->items())
      text += fmt::format("; {} {}", name, version.is_string() ? version.get<std::string>() : version.dump());
  return text;
}

/// Batch 128 on all cores, as the paper has it; what else varies is laid over it.
std::string thorough_campaign(const std::vector<std::string>& frameworks) {
  nlohmann::json parameters = nlohmann::json::array();
  parameters.push_back({{"name", "framework"}, {"stage", "environment"}, {"values", frameworks}});
  parameters.push_back({{"name", "batch"}, {"stage", "run"}, {"values", nlohmann::json::array({128})}});
  parameters.push_back({{"name", "threads"},
                        {"stage", "run"},
                        {"range", nlohmann::json::array({1, "machine.cores"})},
                        {"default", "machine.cores"}});
  return campaign_text(parameters, {{"deadline", "15min"}});
}

space::Value value_written(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  return tuner::written_value(text);
}

/// A configuration for each value of one --vary. The error is a sentence.
std::expected<std::vector<space::Configuration>, std::string> values_of_variation(const std::string& word) {
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  if (equals == std::string::npos || equals + 1 == word.size())
    return std::unexpected(fmt::format("--vary '{}' is no NAME=VALUE,…, such as graph_compiler=none,xla", word));
  if (!tuner::is_known_parameter(name) || name == "framework") {
    return std::unexpected(fmt::format("--vary '{}': no parameter that can vary here is called '{}'{}", word, name,
                                       space::did_you_mean(name, tuner::known_parameters())));
  }
  std::vector<space::Configuration> configurations;
  for (std::size_t begin = equals + 1; begin <= word.size();) {
    const std::size_t end = std::min(word.find(',', begin), word.size());
    if (end == begin) return std::unexpected(fmt::format("--vary '{}': one of its values is empty", word));
    configurations.emplace_back().set(name, value_written(word.substr(begin, end - begin)));
    begin = end + 1;
  }
  return configurations;
}

/// Every combination of what --vary names; one that changes nothing where it names nothing.
std::expected<std::vector<space::Configuration>, std::string> variations_of(const std::vector<std::string>& words) {
  std::vector<space::Configuration> all(1);
  for (const std::string& word : words) {
    const auto values = values_of_variation(word);
    if (!values) return std::unexpected(values.error());
    std::vector<space::Configuration> more;
    for (const space::Configuration& before : all) {
      for (const space::Configuration& value : *values) {
        more.push_back(before);
        for (const auto& [name, each] : value.values()) more.back().set(name, each);
      }
    }
    all = std::move(more);
  }
  return all;
}

/// A row for each graph compiler of the recipe, unless --vary says which.
std::vector<space::Configuration> rows_of_recipe(const measure::EnvironmentRecipe& recipe,
                                                 const std::vector<space::Configuration>& variations) {
  if (recipe.graph_compilers.empty() || variations.front().find("graph_compiler") != nullptr) return variations;
  std::vector<space::Configuration> rows;
  for (const std::string& compiler : recipe.graph_compilers) {
    for (const space::Configuration& varied : variations) {
      rows.push_back(varied);
      rows.back().set("graph_compiler", compiler);
    }
  }
  return rows;
}

/// What is checked: recipes that can be, with why not for the others.
struct ToCheck {
  std::vector<const measure::EnvironmentRecipe*> recipes;
  std::vector<CheckedRow> refused;
};

ToCheck sort_out(const EnvOrder& order, bool in_containers, const tuner::Interruption& interruption) {
  ToCheck result;
  for (const measure::EnvironmentRecipe* recipe : order.recipes) {
    if (interruption.requested()) break;
    const bool inside = in_containers && recipe->kind == measure::RecipeKind::Image;
    std::string reason = inside ? std::string() : why_not_checked(*recipe, order, interruption.waiting_token());
    if (reason.empty()) {
      result.recipes.push_back(recipe);
      continue;
    }
    CheckedRow row{.name = recipe->name, .varied = {}, .found = {}};
    row.found.reason = std::move(reason);
    result.refused.push_back(std::move(row));
  }
  return result;
}

ExitCode verdict_of_all(const std::vector<CheckedRow>& rows, bool varied) {
  ExitCode code = ExitCode::Ok;
  for (const CheckedRow& row : rows) {
    if (row.found.verdict == tuner::TrainingVerdict::Interrupted) return ExitCode::Interrupted;
    // A framework need not know all of many values.
    const bool fine = row.found.verdict == tuner::TrainingVerdict::Right ||
                      (varied && row.found.verdict == tuner::TrainingVerdict::Unsupported);
    if (!fine) code = ExitCode::Negative;
  }
  return code;
}

ExitCode check_thoroughly(const EnvOrder& order, Context& context, tuner::Interruption& interruption) {
  const auto variations = value_or_refuse(context, ExitCode::Usage, variations_of(order.options.vary));
  const bool in_containers = variations.front().find("container") != nullptr;
  ToCheck to_check = sort_out(order, in_containers, interruption);
  std::vector<CheckedRow> rows = std::move(to_check.refused);
  if (!to_check.recipes.empty()) {
    const tuner::Installation installation = tuner::find_installation();
    const measure::MachineFacts machine = measure::probe_machine(installation.machine_roots());
    std::vector<std::string> names;
    for (const measure::EnvironmentRecipe* recipe : to_check.recipes) names.push_back(recipe->name);
    const auto spec = tuner::parse_campaign(thorough_campaign(names), "env-check", "/", measure::facts_of(machine),
                                            order.frameworks.get());
    if (!spec) return complain(context, ExitCode::Negative, one_line(tuner::to_sentence(spec.error())));
    tuner::LocalExecutor executor(*spec, executor_options(context, installation, machine, order.frameworks));
    const auto say = [&context](std::string_view sentence) { *context.err << sentence << '\n' << std::flush; };
    tuner::TrainingCheck check(
        executor, interruption,
        {.kept = context.data_folder() / "references", .machine = measure::fingerprint_of(machine).key(), .say = say});
    for (const measure::EnvironmentRecipe* recipe : to_check.recipes) {
      for (const space::Configuration& varied : rows_of_recipe(*recipe, variations)) {
        if (interruption.requested()) break;
        space::Configuration configuration = spec->space.default_configuration();
        configuration.set("framework", recipe->name);
        for (const auto& [parameter, value] : varied.values()) configuration.set(parameter, value);
        const auto began = std::chrono::steady_clock::now();
        CheckedRow row{.name = recipe->name, .varied = varied, .found = check.check(configuration)};
        row.took = std::chrono::steady_clock::now() - began;
        say(fmt::format("{}: {}", checked_row_name(row), to_text(row.found.verdict)));
        rows.push_back(std::move(row));
      }
    }
  }
  if (context.json)
    print_json(context, "env-check-thorough", {{"environments", checked_rows_json(rows)}});
  else
    print_checked_rows(context, rows);
  return interruption.requested() ? ExitCode::Interrupted : verdict_of_all(rows, !order.options.vary.empty());
}

}  // namespace

ExitCode check_environments(const EnvOrder& order, Context& context) {
  value_or_refuse(context, ExitCode::Unavailable, context.make_folders());
  if (const std::string missing = missing_supervisor(); !missing.empty())
    refuse(context, ExitCode::Unavailable, missing);
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
    const EnvironmentCheck checked = check(*recipe, order, context, interruption);
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

std::string problem_of_variations(const std::vector<std::string>& words) {
  const auto variations = variations_of(words);
  return variations ? std::string() : variations.error();
}

}  // namespace nocturne::cli
