#include "tuner/cli/subcommands/env.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "space/nearest.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/measuring/measurement_context.hpp"
#include "tuner/cli/subcommand.hpp"
#include "tuner/installation/installation.hpp"
#include "tuner/installation/invocation.hpp"
#include "tuner/installation/own_workers.hpp"

namespace nocturne::cli {
namespace {

struct EnvAction {
  std::string_view name;
  std::string_view explanation;
  bool takes_names;
};
constexpr EnvAction kEnvActions[] = {
    {"list", "all recipes and images: installed, available, or not here and why", false},
    {"install", "installs; goes on after a failure, and goes on with what a killed one had downloaded", true},
    {"check", "imports, and trains three steps; --thorough: an epoch beside our own worker, whose losses it must share",
     true},
    {"remove", "removes what is installed, and images that were made; what a runtime imported of them it keeps", true},
    {"python", "prints the path of its Python, to run a script of your own with", true},
    {"export",
     "prints the resolved versions and their SHA-256s, for install --lock elsewhere; --bundle packs all for a node "
     "without network",
     true},
    {"update", "resolves the versions anew; the old environment counts until the new one is whole", true},
};

std::vector<std::string> action_names() {
  std::vector<std::string> names;
  for (const EnvAction& action : kEnvActions) names.emplace_back(action.name);
  return names;
}

/// Empty: it is one of a recipe; else a sentence.
std::string unknown_name(const std::string& name, const tuner::Frameworks& frameworks) {
  if (frameworks.recipe(name) != nullptr) return {};
  if (tuner::find_worker(name) != nullptr)
    return fmt::format("'{}' is no environment: Nocturne builds it itself when a campaign wants it", name);
  const std::string hint = space::did_you_mean(name, frameworks.names());
  return fmt::format("no recipe is called '{}'{}", name,
                     hint.empty() ? fmt::format("; '{}' shows them", tuner::command_text({"env", "list"})) : hint);
}

/// Empty: the options fit the action and one another; else a sentence.
std::string misplaced_option(const EnvOptions& options) {
  const std::string& action = options.action;
  const bool bundled = !options.bundle.empty();
  if (!options.lock.empty() && action != "install") return "--lock goes with install";
  if (!options.output.empty() && action != "export") return "--output goes with export";
  if (bundled && action != "export" && action != "install") return "--bundle goes with export and install";
  if (bundled && action == "install" && (!options.names.empty() || !options.lock.empty()))
    return "a bundle says itself what it installs: give neither names nor --lock";
  if (bundled && !options.output.empty()) return "--bundle names the file already";
  if (!options.profile.empty() && !(bundled && action == "export")) return "--profile goes with export --bundle";
  if ((options.thorough || options.all) && action != "check") return "--thorough and --all go with check";
  if (!options.vary.empty() && !options.thorough) return "--vary goes with check --thorough";
  if (options.all && !options.names.empty()) return "give either names or --all";
  return problem_of_variations(options.vary);
}

/// Empty: the action gets as many names as it takes; else a sentence.
std::string wrong_number_of_names(const EnvOptions& options, const std::vector<std::string>& names) {
  const auto* action = std::ranges::find(kEnvActions, options.action, &EnvAction::name);
  const bool bundled = !options.bundle.empty();
  const bool says_itself = bundled && (options.action == "install" || !options.profile.empty());
  if (action->takes_names && names.empty() && !says_itself && !options.all)
    return fmt::format("env {} needs a name, or several", action->name);
  if (options.action == "export" && !bundled && names.size() > 1) return "env export writes one lock: give one name";
  if (options.action == "python" && names.size() > 1) return "env python prints one path: give one name";
  return {};
}

void add_installed(EnvOrder& order) {
  for (const measure::EnvironmentRecipe& recipe : order.frameworks->recipes())
    if (order.frameworks->installed(recipe.name)) order.recipes.push_back(&recipe);
}

ExitCode act(const EnvOrder& order, Context& context) {
  const std::string& action = order.options.action;
  if (action == "install" && !order.options.bundle.empty()) return install_bundle(order, context);
  if (action == "export" && !order.options.bundle.empty()) return pack_environments(order, context);
  if (action == "install") return make_environments(order, context, false);
  if (action == "update") return make_environments(order, context, true);
  if (action == "check") return check_environments(order, context);
  if (action == "python") return print_python(order, context);
  if (action == "remove") return remove_environments(order, context);
  if (action == "export") return export_environment(order, context);
  return list_environments(order, context);
}

}  // namespace

void setup(CLI::App& subcommand, EnvOptions& options) {
  std::string actions;
  for (const EnvAction& action : kEnvActions) actions += fmt::format("  {:<9} {}\n", action.name, action.explanation);
  add_value(subcommand, "action", options.action, "ACTION", "What to do (default: list)")
      ->check([](const std::string& word) {
        const auto names = action_names();
        return std::ranges::find(names, word) != names.end()
                   ? std::string()
                   : fmt::format("no action is called '{}'{}; there are: {}", word, space::did_you_mean(word, names),
                                 fmt::join(names, ", "));
      });
  add_value(subcommand, "names", options.names, "NAME", "Recipes, by name; remove: images, too");
  add_value(subcommand, "--lock", options.lock, "FILE",
            "install: exactly the packages of this file, which export wrote; what is not the same file is refused");
  add_value(subcommand, "--output", options.output, "FILE", "export: write to this file");
  add_value(subcommand, "--bundle", options.bundle, "FILE",
            "export: pack into this file, or into this folder under a name of its own; install: from this file");
  add_value(subcommand, "--profile", options.profile, "PROFILE",
            "export --bundle: with this profile, its environment and its build");
  subcommand.add_flag(
      "--thorough", options.thorough,
      "check: exact steps and the first 50 losses against our own worker, and the accuracy after an epoch");
  subcommand.add_flag("--all", options.all, "check: every environment that is installed");
  add_value(subcommand, "--vary", options.vary, "NAME=VALUE,…",
            "check --thorough: a row for each value; else one for each graph compiler of the recipe")
      ->allow_extra_args(false);
  subcommand.footer(fmt::format(
      "Actions:\n{}\n"
      "A recipe says which Python and which packages a framework needs; its name is a value of the parameter "
      "`framework`.\n"
      "Recipes of your own: ~/.config/nocturne/recipes/NAME.json. Pythons are looked for in $NOCTURNE_PYTHONS, on "
      "PATH,\n"
      "in pyenv's and uv's folders. Campaigns install what they need themselves; this is to see, and to prepare.\n"
      "\n"
      "Examples:\n"
      "  nocturne env list\n"
      "  nocturne env install mxnet-1.9.1 pytorch-2.15\n"
      "  nocturne env check mxnet-1.9.1\n"
      "  nocturne env check --thorough --all\n"
      "  nocturne env check --thorough pytorch-2.15 --vary graph_compiler=none,torchscript --vary precision=f32,bf16\n"
      "  nocturne env export mxnet-1.9.1 > mxnet.lock.json\n"
      "  nocturne env install --lock mxnet.lock.json\n"
      "  nocturne env export --profile mnist-evening --bundle .\n"
      "  nocturne env install --bundle mnist-evening-0123456789ab.nocturne",
      actions));
}

ExitCode run(const EnvOptions& options, Context& context) {
  EnvOrder order{.options = options, .frameworks = frameworks_here(context, tuner::find_installation()), .recipes = {}};
  std::vector<std::string> names = options.names;
  if (const std::string sentence = misplaced_option(options); !sentence.empty())
    return complain(context, ExitCode::Usage, sentence);
  if (!options.lock.empty()) {
    const auto lock = read_lock_file(options.lock);
    if (!lock) return complain(context, ExitCode::Usage, lock.error());
    if (names.empty()) names.push_back(lock->recipe);
    if (names != std::vector{lock->recipe})
      return complain(context, ExitCode::Usage, fmt::format("{} is of '{}' alone", options.lock, lock->recipe));
  }
  if (const std::string sentence = wrong_number_of_names(options, names); !sentence.empty())
    return complain(context, ExitCode::Usage, sentence);
  for (const std::string& name : names) {
    if (options.action == "remove" && order.frameworks->recipe(name) == nullptr && is_made_image(name, context)) {
      order.images.push_back(name);
      continue;
    }
    if (const std::string sentence = unknown_name(name, *order.frameworks); !sentence.empty())
      return complain(context, ExitCode::Usage, sentence);
    const measure::EnvironmentRecipe* recipe = order.frameworks->recipe(name);
    if (std::ranges::find(order.recipes, recipe) == order.recipes.end()) order.recipes.push_back(recipe);
  }
  if (options.all) add_installed(order);
  if (options.all && order.recipes.empty()) {
    return complain(
        context, ExitCode::NotFound,
        fmt::format("no environment is installed: '{}' makes one", tuner::command_text({"env", "install", "NAME"})));
  }
  return act(order, context);
}

SubcommandAction add_env(CLI::App& subcommand) {
  return add_options<EnvOptions>(subcommand);
}

}  // namespace nocturne::cli
