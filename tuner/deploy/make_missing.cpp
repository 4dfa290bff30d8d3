#include "tuner/deploy/make_missing.hpp"

#include <unistd.h>

#include <fmt/format.h>

#include "measure/artifact/artifact.hpp"
#include "measure/environment/requirement.hpp"
#include "measure/run/launch.hpp"
#include "tuner/executor/own_build.hpp"
#include "tuner/executor/python_worker.hpp"
#include "tuner/installation/own_workers.hpp"

namespace nocturne::deploy {
namespace {

using Made = std::expected<std::vector<std::string>, MakingFailure>;

Made make_environment(Profile& profile, const measure::EnvironmentRecipe& recipe, const MakingPlaces& places,
                      const std::stop_token& stop) {
  measure::InstallOptions options = places.frameworks.install_options();
  options.progress = places.progress;
  options.lock = profile.training.packages;
  auto made = obtain_environment(places.frameworks, recipe, places.frameworks.pythons(), options, stop);
  if (!made) return std::unexpected(std::move(made.error()));
  std::vector<std::string> differences;
  if (!measure::same_versions(made->lock, profile.training.packages)) {
    differences.push_back(
        fmt::format("the environment {} has other packages than the one that was measured", recipe.name));
  }
  use_environment(profile, *made, recipe, places.frameworks.worker_folder());
  return differences;
}

Made make_build(Profile& profile, const tuner::WorkerRecipe& worker, const std::filesystem::path& library,
                const MakingPlaces& places, const std::stop_token& stop) {
  const auto flags = measure::build_flags(profile.configuration);
  if (!flags) return cannot_make(flags.error());
  if (places.progress) places.progress(fmt::format("{}: {}", worker.name, measure::to_text(*flags)));
  try {
    measure::ArtifactStore builds(places.builds_folder);
    const int jobs = static_cast<int>(measure::probe_launch_machine().allowed.size());
    auto built = tuner::obtain_build(worker, *flags, library, places.installation, builds, jobs, stop);
    if (!built) {
      return std::unexpected(MakingFailure{std::move(built.error().reason), std::move(built.error().log_tail),
                                           built.error().outcome == space::Outcome::Killed});
    }
    std::vector<std::string> differences;
    if (built->key != profile.training.artifact) {
      differences.push_back(
          fmt::format("the program {} is another build than the one that was measured: sources, "
                      "compiler or libraries differ",
                      built->program.filename().string()));
    }
    profile.training.program = built->program;
    profile.training.artifact = built->key;
    return differences;
  } catch (const std::filesystem::filesystem_error& error) {
    return cannot_make(error.what());
  }
}

Made take_shipped(Profile& profile, const tuner::WorkerRecipe& worker) {
  const std::filesystem::path program = tuner::find_shipped(worker);
  if (program.empty()) return cannot_make(tuner::worker_obstacle(worker));
  profile.training.program = program;
  return std::vector{fmt::format("{} is this machine's; whether it is the one that was measured is not known",
                                 program.filename().string())};
}

}  // namespace

std::expected<measure::Environment, MakingFailure> obtain_environment(const tuner::Frameworks& frameworks,
                                                                      const measure::EnvironmentRecipe& recipe,
                                                                      const measure::PythonPlaces& pythons,
                                                                      const measure::InstallOptions& options,
                                                                      const std::stop_token& stop) {
  std::string reason;
  measure::EnvironmentStore* store = frameworks.store(reason);
  if (store == nullptr) return cannot_make(reason);
  auto obtained = store->obtain(recipe, pythons, options, stop);
  if (obtained) return *std::move(obtained);
  measure::EnvironmentFailure& failure = obtained.error();
  return std::unexpected(MakingFailure{std::move(failure.reason), std::move(failure.log_tail), failure.interrupted});
}

void use_environment(Profile& profile, const measure::Environment& environment,
                     const measure::EnvironmentRecipe& recipe, const std::filesystem::path& worker_folder) {
  const auto words = tuner::python_arguments(environment, worker_folder, recipe.worker);
  profile.training.program = words.front();
  profile.training.arguments.assign(words.begin() + 1, words.end());
  profile.training.artifact = environment.key;
  profile.training.packages = environment.lock;
  profile.training.python = measure::to_text(environment.interpreter.version);
  profile.training.fix_ups = recipe.fix_ups;
  for (const auto& [name, value] : measure::variables_of(recipe, environment.folder)) profile.launch.set[name] = value;
}

std::string missing_part(const Profile& profile, const MakingPlaces& places) {
  const std::string& name = profile.training.recipe;
  if (name.empty() || ::access(profile.training.program.c_str(), X_OK) == 0) return {};
  const measure::EnvironmentRecipe* recipe = places.frameworks.recipe(name);
  if (recipe != nullptr && recipe->kind == measure::RecipeKind::Python) return "the environment " + name;
  if (const tuner::WorkerRecipe* shipped = tuner::find_shipped_worker(name))
    return "the program " + std::string(shipped->program);
  const bool built = recipe != nullptr ? recipe->build.has_value() : tuner::find_worker(name) != nullptr;
  return built ? "the build of " + name : std::string();
}

Made make_missing(Profile& profile, const MakingPlaces& places, const std::stop_token& stop) {
  if (missing_part(profile, places).empty()) return std::vector<std::string>{};
  if (const tuner::WorkerRecipe* shipped = tuner::find_shipped_worker(profile.training.recipe))
    return take_shipped(profile, *shipped);
  const measure::EnvironmentRecipe* recipe = places.frameworks.recipe(profile.training.recipe);
  if (recipe == nullptr) {
    return make_build(profile, *tuner::find_worker(profile.training.recipe), places.installation.onednn_prefix, places,
                      stop);
  }
  if (recipe->kind == measure::RecipeKind::Python) return make_environment(profile, *recipe, places, stop);
  const tuner::WorkerRecipe* worker = tuner::find_worker(recipe->worker);
  if (worker == nullptr) return cannot_make(fmt::format("no worker of ours is called '{}'", recipe->worker));
  measure::InstallOptions options = places.frameworks.install_options();
  options.progress = places.progress;
  const auto library = obtain_environment(places.frameworks, *recipe, places.frameworks.pythons(), options, stop);
  if (!library) return std::unexpected(library.error());
  return make_build(profile, *worker, library->folder, places, stop);
}

}  // namespace nocturne::deploy
