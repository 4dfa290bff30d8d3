#pragma once

/// Puts a worker into the container that its configuration names: the parameters `container` (host where absent),
/// `image` (debian-12 where absent) and `image_form` (folder where absent), all of the stage environment.
///
/// prepare() makes the image where it is not there, finds out what must be mounted, and refuses what cannot be; then
/// contain() cannot fail for a run. What is mounted: the folder of all runs (writable), what the worker's argv names, a
/// virtual environment with the Python it was made from, oneDNN, the kernels, the data, preloaded allocators.

#include <chrono>
#include <expected>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "measure/container/container.hpp"
#include "measure/container/image_store.hpp"
#include "measure/run/runner.hpp"
#include "space/configuration.hpp"
#include "tuner/executor/executor.hpp"
#include "tuner/executor/failure_memory.hpp"
#include "tuner/installation/installation.hpp"

namespace nocturne::tuner {

/// A place for a worker, ready.
struct ContainerPlace {
  const measure::ContainerRuntime* runtime = nullptr;
  measure::ContainerImage image;
  std::vector<measure::ContainerMount> mounts;
  bool gpu = false;  ///< the worker computes on one
  /// The folder of all runs, mounted whole where a run's own can have no place in the image; empty: it can.
  std::filesystem::path runs{};
};

/// One instance serves one executor; not thread-safe.
class Containment {
 public:
  struct Options {
    Installation installation;
    std::filesystem::path data_folder{};  ///< where the workload's own images lie; may be empty
    std::filesystem::path runs_folder;
    std::filesystem::path images_folder;               ///< images are made here; empty: only `host` works
    std::vector<std::filesystem::path> recipes;        ///< folders of recipes of images, the user's first
    std::function<void(std::string_view)> progress{};  ///< lines while an image is made; may be empty
    FailureMemory::Now now = std::chrono::steady_clock::now;
  };
  explicit Containment(Options options) : options_(std::move(options)), failed_(options_.now) {}

  /// `worker` becomes another where the container is not the host: with the runtime, its version and the image's
  /// digest. Outcomes: Unsupported (a runtime with an obstacle, what cannot be expressed), BuildFailed (no image),
  /// Killed (the stop). A runtime with an obstacle is not looked at again by this instance; of an image that failed,
  /// see failure_memory.hpp.
  [[nodiscard]] std::expected<void, PreparationFailure> prepare(const space::Configuration& configuration,
                                                                PreparedWorker& prepared, const std::stop_token& stop);

 private:
  struct Runtime {
    std::string obstacle;
    std::string version;
  };
  const Runtime& look_at(const measure::ContainerRuntime& runtime);
  [[nodiscard]] std::expected<measure::ContainerImage, PreparationFailure> obtain(
      const std::string& image, const std::string& form, const measure::ContainerRuntime& runtime,
      const std::stop_token& stop);
  [[nodiscard]] std::expected<std::vector<measure::ContainerMount>, std::string> mounts_of(
      const PreparedWorker& prepared, const measure::ContainerImage& image,
      const measure::ContainerRuntime& runtime) const;

  Options options_;
  std::optional<measure::ImageStore> store_;
  std::map<std::string, Runtime, std::less<>> runtimes_;
  FailureMemory failed_;  // by image and runtime
};

/// The command of the same run inside: of the runs' folder it sees its own, and reads that of the run whose weights it
/// begins with. `owner`: ContainerOrder::owner. Touches nothing. The error is a sentence.
[[nodiscard]] std::expected<measure::RunPlan, std::string> contained_command(measure::RunPlan plan,
                                                                             const ContainerPlace& contained,
                                                                             const std::string& owner);

/// The same, owned by this process, after the places where the image needs some were made. The error is a sentence; not
/// after prepare() let the same mounts pass.
[[nodiscard]] std::expected<measure::RunPlan, std::string> contained_plan(measure::RunPlan plan,
                                                                          const ContainerPlace& contained);

/// Removes the places in an image's `root` where folders of runs were mounted that are long gone. `runs`: their folder
/// outside.
void remove_old_mount_points(const std::filesystem::path& root, const std::filesystem::path& runs);

/// What a worker started by `program` needs to see beside the system's own folders: its folder; of a virtual
/// environment all of it and the Python it was made from.
[[nodiscard]] std::vector<std::filesystem::path> folders_of_program(const std::filesystem::path& program);

/// Which folders of the host a worker must see in a container.
class ContainedPaths {
 public:
  explicit ContainedPaths(const measure::ContainerImage& image) : image_(image) {}

  /// With the path that its symbolic links lead to; one that does not exist is left out, and so is an empty one.
  void add(const std::filesystem::path& path, bool writable = false);
  /// What absolute words of a command name. The error: a program of the system that the image does not have.
  [[nodiscard]] std::expected<void, std::string> add_command(const std::vector<std::string>& argv);
  /// A library to preload: the image's own of the same path, else the host's.
  [[nodiscard]] std::expected<void, std::string> add_library(const std::filesystem::path& library,
                                                             const measure::ContainerRuntime& runtime);
  [[nodiscard]] std::vector<measure::ContainerMount> mounts() const { return measure::least_mounts(mounts_); }

 private:
  [[nodiscard]] std::expected<void, std::string> add_program_folder(const std::filesystem::path& path);
  /// True where nothing is known of what is in the image.
  [[nodiscard]] bool may_be_inside(const std::filesystem::path& path) const;

  const measure::ContainerImage& image_;
  std::vector<measure::ContainerMount> mounts_;
};

}  // namespace nocturne::tuner
