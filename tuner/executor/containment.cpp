#include "tuner/executor/containment.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "measure/container/container.hpp"
#include "space/digest.hpp"
#include "space/folder_entries.hpp"
#include "tuner/executor/contained_paths.hpp"

namespace nocturne::tuner {
namespace {

namespace fs = std::filesystem;

std::unexpected<PreparationFailure> refuse_container(space::Outcome outcome, std::string reason,
                                                     std::string log_tail = {}) {
  return std::unexpected(PreparationFailure{outcome, std::move(reason), std::move(log_tail)});
}

/// The text of a parameter, or `otherwise` where it is absent.
std::string word_of(const space::Configuration& configuration, std::string_view name, std::string_view otherwise) {
  const space::Value* value = configuration.find(std::string(name));
  return value == nullptr ? std::string(otherwise) : space::to_text(*value);
}

}  // namespace

void remove_old_mount_points(const fs::path& root, const fs::path& runs) {
  constexpr std::chrono::hours kBetweenPlanAndRun{24};
  std::error_code ignored;
  for (const fs::directory_entry& place : space::entries_of(root / runs.relative_path(), ignored)) {
    const auto age = fs::file_time_type::clock::now() - place.last_write_time(ignored);
    if (fs::exists(runs / place.path().filename(), ignored) || age < kBetweenPlanAndRun) continue;
    fs::remove(place.path(), ignored);  // only an empty one
  }
}

const Containment::Runtime& Containment::look_at(const measure::ContainerRuntime& runtime) {
  const auto known = runtimes_.find(runtime.name());
  if (known != runtimes_.end()) return known->second;
  Runtime state{.obstacle = runtime.obstacle(), .version = {}};
  if (state.obstacle.empty()) {
    state.version = runtime.version();
    const measure::ContainerRuntime* pointer = &runtime;
    static_cast<void>(measure::sweep_containers({&pointer, 1}));
  }
  return runtimes_[std::string(runtime.name())] = std::move(state);
}

std::expected<measure::ContainerImage, PreparationFailure> Containment::obtain(const std::string& name,
                                                                               const measure::ContainerRuntime& runtime,
                                                                               const std::stop_token& stop) {
  const std::string row = fmt::format("{} {}", runtime.name(), name);
  if (const auto* known = failed_.find(row)) return std::unexpected(*known);
  const auto remember = [&](PreparationFailure failure) {
    failed_.remember(row, failure);
    return std::unexpected(std::move(failure));
  };
  if (options_.images_folder.empty()) {
    return remember({space::Outcome::Unsupported, "images have no folder here: only container=host works", {}});
  }
  const auto recipe = measure::find_image_recipe(name, options_.recipes);
  if (!recipe) return remember({space::Outcome::Unsupported, recipe.error(), {}});
  try {
    if (!store_) store_.emplace(options_.images_folder);
  } catch (const fs::filesystem_error& error) {
    return remember({space::Outcome::BuildFailed, error.what(), {}});
  }
  auto image = store_->obtain(*recipe, runtime, {.progress = options_.progress}, stop);
  if (image) {
    failed_.forget(row);
    return *image;
  }
  measure::ImageFailure& failure = image.error();
  return remember({failure.interrupted ? space::Outcome::Killed : space::Outcome::BuildFailed,
                   std::move(failure.reason), std::move(failure.log_tail), failure.no_room, failure.unreachable});
}

std::expected<std::vector<measure::ContainerMount>, std::string> Containment::mounts_of(
    const Prepared& prepared, const measure::ContainerImage& image, const measure::ContainerRuntime& runtime) const {
  ContainedPaths paths(image);
  paths.add(options_.installation.onednn_prefix);
  paths.add(prepared.library);
  paths.add(options_.installation.source_root / "kernels");
  paths.add(options_.installation.source_root / "examples" / "data");
  paths.add(options_.data_folder);
  if (prepared.compile_cache.is_absolute()) {
    std::error_code error;
    fs::create_directories(prepared.compile_cache, error);
    paths.add(prepared.compile_cache, /*writable=*/true);
  }
  std::vector<std::string> words = prepared.argv;
  if (!prepared.image.empty()) words.front().clear();  // that program is the image's own
  if (auto added = paths.add_command(words); !added) return std::unexpected(std::move(added.error()));
  for (const fs::path& library : prepared.launch.preload) {
    if (auto added = paths.add_library(library, runtime); !added) return std::unexpected(std::move(added.error()));
  }
  return paths.mounts();
}

std::expected<void, PreparationFailure> Containment::prepare(const space::Configuration& configuration,
                                                             Prepared& prepared, const std::stop_token& stop) {
  const std::string container = word_of(configuration, "container", "host");
  if (container == "host") return {};
  const measure::ContainerRuntime* runtime = measure::find_container_runtime(container);
  if (runtime == nullptr) {
    return refuse_container(
        space::Outcome::Unsupported,
        fmt::format("container is '{}'; known are host, charliecloud, apptainer, podman, docker", container));
  }
  const Runtime& state = look_at(*runtime);
  if (!state.obstacle.empty()) {
    return refuse_container(space::Outcome::Unsupported, fmt::format("container {}: {}", container, state.obstacle));
  }
  const std::string image_name = prepared.image.empty() ? word_of(configuration, "image", "debian-12") : prepared.image;
  auto image = obtain(image_name, *runtime, stop);
  if (!image) return std::unexpected(std::move(image.error()));
  // What was compiled and linked outside, or in another image, need not run in this one.
  if (prepared.compile_cache.is_absolute()) prepared.compile_cache += "-" + space::sha256(image->digest).substr(0, 12);
  auto mounts = mounts_of(prepared, *image, *runtime);
  if (!mounts) return refuse_container(space::Outcome::Unsupported, std::move(mounts.error()));
  if (!runtime->makes_mount_points() && !image->root.empty()) {
    remove_old_mount_points(image->root, options_.runs_folder);
    if (auto made = measure::make_mount_points(image->root, *mounts); !made) {
      return refuse_container(space::Outcome::Unsupported, std::move(made.error()));
    }
  }
  prepared.worker =
      space::sha256(fmt::format("{}\n{} {}\n{}", prepared.worker, container, state.version, image->digest));
  const Contained contained{.runtime = runtime, .image = std::move(*image), .mounts = std::move(*mounts)};

  measure::RunPlan trial;  // what this one lets pass, a run's own lets pass too
  trial.id = "trial";
  trial.folder = options_.runs_folder / trial.id;
  trial.argv = prepared.argv;
  trial.environment = prepared.launch.variables();
  if (const auto passed = contained_plan(std::move(trial), contained); !passed) {
    return refuse_container(space::Outcome::Unsupported, fmt::format("container {}: {}", container, passed.error()));
  }
  prepared.contained = std::make_shared<const Contained>(contained);
  return {};
}

}  // namespace nocturne::tuner
