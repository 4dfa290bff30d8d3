#include "tuner/executor/own_build.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "space/file_contents.hpp"

namespace nocturne::tuner {

std::expected<measure::Artifact, PreparationFailure> obtain_build(
    const WorkerRecipe& worker, const measure::BuildFlags& flags, const std::filesystem::path& onednn_prefix,
    const Installation& installation, measure::ArtifactStore& builds, int jobs, const std::stop_token& stop) {
  const auto recipe =
      measure::load_build_recipe(installation.source_root / worker.build_file, installation.source_root);
  if (!recipe) return std::unexpected(PreparationFailure{space::Outcome::BuildFailed, recipe.error(), {}});
  measure::BuildOptions build;
  if (!installation.json_prefix.empty()) build.prefixes["nlohmann-json"] = installation.json_prefix;
  if (!onednn_prefix.empty()) build.prefixes["onednn"] = onednn_prefix;
  build.jobs = std::max(1, jobs);
  auto artifact = builds.obtain(*recipe, flags, build, stop);
  if (artifact) return std::move(*artifact);
  measure::BuildFailure& failure = artifact.error();
  if (failure.interrupted) failure.reason = fmt::format("the build of {} was cut", recipe->name);
  return std::unexpected(PreparationFailure{failure.interrupted ? space::Outcome::Killed : space::Outcome::BuildFailed,
                                            std::move(failure.reason), std::move(failure.log_tail), failure.no_room});
}

std::expected<PreparedWorker, PreparationFailure> prepare_shipped(const WorkerRecipe& worker, PreparedWorker prepared) {
  const std::filesystem::path program = find_shipped(worker);
  auto digest = space::sha256_of_file(program);
  if (!digest) {
    const std::string obstacle = worker_obstacle(worker);
    return std::unexpected(
        PreparationFailure{space::Outcome::Unsupported,
                           obstacle.empty() ? fmt::format("{} cannot be read", program.string()) : obstacle,
                           {}});
  }
  prepared.argv = {program.string()};
  prepared.worker = *std::move(digest);
  return prepared;
}

}  // namespace nocturne::tuner
