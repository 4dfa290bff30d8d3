// What a recipe's kind means to the local executor: a Python environment, our own worker against a library built here,
// a Python inside an image, a program of the user's own.

#include <fmt/format.h>

#include "measure/run/command_template.hpp"
#include "space/digest.hpp"
#include "tuner/executor/local_executor.hpp"
#include "tuner/executor/own_command.hpp"
#include "tuner/executor/python_worker.hpp"

namespace nocturne::tuner {
namespace {

std::unexpected<PreparationFailure> refuse_recipe(space::Outcome outcome, std::string reason) {
  return std::unexpected(PreparationFailure{outcome, std::move(reason), {}});
}

/// Where compilers keep what they made, by the worker and its environment. What a warm cache spares is not what a cold
/// one costs: another measurement.
void lead_to_cache(const RunSettings& run, const std::filesystem::path& caches, const std::string& digest,
                   Prepared& prepared) {
  const bool warm = run.compile_cache == CompileCache::Warm;
  prepared.worker = warm ? space::sha256(digest + " warm") : digest;
  prepared.compile_cache = warm ? caches / digest.substr(0, 16) : std::filesystem::path("compile-cache");
}

std::int64_t unix_ns_of(std::chrono::system_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

}  // namespace

std::expected<Prepared, PreparationFailure> LocalExecutor::prepare_recipe(const measure::EnvironmentRecipe& recipe,
                                                                          const space::Configuration& configuration,
                                                                          Prepared prepared,
                                                                          const std::stop_token& stop) {
  switch (recipe.kind) {
    case measure::RecipeKind::Native:
      return prepare_library(recipe, configuration, std::move(prepared), stop);
    case measure::RecipeKind::Image:
      return prepare_image(recipe, configuration, std::move(prepared));
    case measure::RecipeKind::Command: {
      auto command = measure::command_from_json(recipe.command);
      if (!command) return refuse_recipe(space::Outcome::Unsupported, recipe.name + ": " + command.error());
      if (command->whole()) {
        return refuse_recipe(space::Outcome::Unsupported,
                             recipe.name +
                                 ": beside other frameworks its time must come from steps: \"time\" is "
                                 "\"steps\", or a pattern");
      }
      prepared.own = std::make_shared<const measure::CommandTemplate>(std::move(*command));
      return prepare_command(spec_, configuration, options_.installation, std::move(prepared));
    }
    case measure::RecipeKind::Python:
      break;
  }
  return prepare_environment(recipe, std::move(prepared), stop);
}

std::expected<Prepared, PreparationFailure> LocalExecutor::prepare_library(const measure::EnvironmentRecipe& recipe,
                                                                           const space::Configuration& configuration,
                                                                           Prepared prepared,
                                                                           const std::stop_token& stop) {
  const WorkerRecipe* worker = find_worker(recipe.worker);
  if (worker == nullptr) {
    return refuse_recipe(space::Outcome::Unsupported,
                         fmt::format("{}: no worker of ours is called '{}'", recipe.name, recipe.worker));
  }
  const auto library = environments_.obtain(recipe, stop);
  if (!library) return std::unexpected(library.error());
  prepared.library = library->folder;
  return prepare_build(*worker, library->folder, configuration, std::move(prepared), stop);
}

std::expected<Prepared, PreparationFailure> LocalExecutor::prepare_image(const measure::EnvironmentRecipe& recipe,
                                                                         const space::Configuration& configuration,
                                                                         Prepared prepared) {
  const space::Value* container = configuration.find("container");
  if (container == nullptr || space::to_text(*container) == "host") {
    return refuse_recipe(space::Outcome::Unsupported,
                         fmt::format("{} is in a container's image alone: give the campaign the parameter container, "
                                     "and constrain it to others than host for this framework",
                                     recipe.name));
  }
  const std::filesystem::path folder = options_.frameworks->worker_folder();
  measure::Environment inside;
  inside.key = "image " + recipe.image;
  inside.python = recipe.interpreter;
  const auto digest = python_worker_digest(inside, folder, recipe.worker);
  if (!digest) return refuse_recipe(space::Outcome::BuildFailed, digest.error());
  prepared.argv = python_arguments(inside, folder, recipe.worker);
  prepared.launch = python_launch(recipe, std::move(prepared.launch));
  lead_to_cache(spec_.run, options_.caches_folder, *digest, prepared);
  prepared.image = recipe.image;
  return prepared;
}

std::expected<Prepared, PreparationFailure> LocalExecutor::prepare_environment(const measure::EnvironmentRecipe& recipe,
                                                                               Prepared prepared,
                                                                               const std::stop_token& stop) {
  const auto environment = environments_.obtain(recipe, stop);
  if (!environment) return std::unexpected(environment.error());
  const std::filesystem::path folder = options_.frameworks->worker_folder();
  const auto digest = python_worker_digest(*environment, folder, recipe.worker);
  if (!digest) return refuse_recipe(space::Outcome::BuildFailed, digest.error());
  prepared.argv = python_arguments(*environment, folder, recipe.worker);
  prepared.launch = python_launch(recipe, std::move(prepared.launch), environment->folder);
  lead_to_cache(spec_.run, options_.caches_folder, *digest, prepared);
  prepared.artifact = environment->key;
  prepared.built_now = environment->installed_now;
  prepared.build_time = environment->install_time;
  prepared.build = db::BuildRecord{.key = environment->key,
                                   .program = recipe.name,
                                   .compiler = "Python " + measure::to_text(environment->interpreter.version),
                                   .flags = {{"environment", recipe.name},
                                             {"packages", environment->lock},
                                             {"download_bytes", recipe.download_bytes}},
                                   .folder = environment->folder.string(),
                                   .build_ns = environment->install_time.count(),
                                   .size_bytes = static_cast<std::int64_t>(environment->bytes),
                                   .created_unix_ns = unix_ns_of(environment->installed)};
  return prepared;
}

}  // namespace nocturne::tuner
