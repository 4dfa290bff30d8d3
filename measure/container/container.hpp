#pragma once

/// A worker inside a container: the parameter `container` (host, charliecloud, apptainer, podman, docker).
///
/// A runtime turns an argv and what it needs of the host (folders, variables, CPUs, devices) into another argv that
/// runs it inside an image. The run's own folder (to be written), the environment, the worker's files and the data are
/// bound at the same paths, so that requests and events need no translation. Composing is pure; obstacle() and
/// version() start programs. Each runtime is one file; add it to the list in container.cpp.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measure/container/image_recipe.hpp"
#include "measure/supervisor/memory_policy.hpp"

namespace nocturne::measure {

/// What stands on disk and can be run: a root file system's folder, or an image in a runtime's own storage.
struct ContainerImage {
  std::string name;              ///< name of the image's recipe: "debian-12"
  std::string digest;            ///< "sha256:…" of the image, or of the root file system's manifest
  std::filesystem::path root;    ///< folder; empty where there is none (it was pulled or built by the runtime)
  std::string reference;         ///< name in the runtime's storage, by digest; empty if the runtime runs folders
  std::string form{};            ///< ImageForm::name; empty: the folder itself
  std::filesystem::path file{};  ///< made of the folder in that form; empty: the folder itself
};

/// Another form of the same image than its folder, for a runtime that runs folders.
struct ImageForm {
  std::string_view name;       ///< value of `image_form`
  std::string_view extension;  ///< of its file, without the dot
  std::string_view explanation;
};
inline constexpr std::string_view kFolderForm = "folder";

struct ContainerMount {
  std::filesystem::path path;  ///< same inside and outside, absolute
  bool writable = false;
  friend bool operator==(const ContainerMount&, const ContainerMount&) = default;
};

struct ContainerOrder {
  std::string run_id;  ///< becomes part of the container's name
  std::string owner;   ///< text of the ProcessIdentity of the tuner: a container whose owner is gone is removed
  std::vector<std::string> argv;
  std::vector<ContainerMount> mounts;
  std::map<std::string, std::string> variables;  ///< set for the worker
  std::vector<int> cpus;                         ///< empty: all
  MemoryPolicy memory{};                         ///< of the caller, who hands it down; not to an engine's containers
  std::filesystem::path folder;                  ///< working directory
  std::int64_t memory_limit_bytes = 0;           ///< 0: none
  bool gpu = false;
  std::string user = "root";  ///< who starts it
  unsigned uid = 0, gid = 0;
};

struct ContainerCommand {
  std::vector<std::string> argv;                 ///< starts it; what is appended reaches the worker
  std::map<std::string, std::string> variables;  ///< set for the runtime's own process
  std::vector<std::string> clean_up;  ///< argv that removes what may be left of this run; empty: nothing can be
  bool apart = false;                 ///< RunPlan::apart
};

/// Programs that make an image, one after the other; each argv[0] is a name to be found on PATH.
using ImageSteps = std::vector<std::vector<std::string>>;

class ContainerRuntime {
 public:
  virtual ~ContainerRuntime() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::string_view package() const = 0;  ///< name of its Debian package
  /// Empty: it can run here. Else why not and what to do, in one sentence (not installed, no rights, daemon asleep).
  [[nodiscard]] virtual std::string obstacle() const = 0;
  /// Version of what runs the container; for docker the engine's. Empty if it does not answer.
  [[nodiscard]] virtual std::string version() const = 0;
  /// The error is a sentence: a path that the runtime's options cannot express, no GPU support, an image it cannot run.
  [[nodiscard]] virtual std::expected<ContainerCommand, std::string> command(const ContainerImage& image,
                                                                             const ContainerOrder& order) const = 0;

  /// False: it runs a root file system's folder.
  [[nodiscard]] virtual bool keeps_images() const = 0;
  /// False: what is mounted must have a place in the root file system before.
  [[nodiscard]] virtual bool makes_mount_points() const { return true; }
  /// A folder of the host that is inside already, and into which nothing can be mounted; empty: there is none.
  [[nodiscard]] virtual std::string_view shared_folder() const { return {}; }
  /// Files it can run beside a folder. Empty: none, or it keeps images.
  [[nodiscard]] virtual std::span<const ImageForm> forms() const { return {}; }
  /// Why such a file cannot be made or run here, a sentence; empty: it can. Starts programs.
  [[nodiscard]] virtual std::string form_obstacle(std::string_view form) const;
  /// Makes the file of a root file system. REQUIRES: it has forms.
  [[nodiscard]] virtual std::vector<std::string> form_command(const std::filesystem::path& root,
                                                              const std::filesystem::path& file) const;
  /// Pulls or builds a `reference` or `file` recipe: into `folder`/root, or under `tag` into its own storage. The
  /// programs may use `folder`.
  [[nodiscard]] virtual std::expected<ImageSteps, std::string> acquire(const ImageRecipe& recipe,
                                                                       const std::filesystem::path& folder,
                                                                       const std::string& tag) const = 0;
  /// Takes a root file system packed by tar into its storage. Empty where it keeps no images.
  [[nodiscard]] virtual std::vector<std::string> import_command(const std::filesystem::path& tarball,
                                                                const std::string& tag) const;
  /// Prints the id of an image in its storage, "sha256:…" or the digits alone; fails where it is not there.
  [[nodiscard]] virtual std::vector<std::string> identify_command(const std::string& image) const;
  /// Prints a line "ID OWNER" for each container of ours, running or not. Empty: it leaves none.
  [[nodiscard]] virtual std::vector<std::string> list_command() const;
  [[nodiscard]] virtual std::vector<std::string> remove_command(const std::string& container) const;
};

/// charliecloud, apptainer, podman, docker; "host" is no runtime.
[[nodiscard]] std::span<const ContainerRuntime* const> container_runtimes();
/// nullptr: none of this name.
[[nodiscard]] const ContainerRuntime* find_container_runtime(std::string_view name);
/// "host" and the names of the runtimes without an obstacle: machine.containers. Starts their programs.
[[nodiscard]] std::vector<std::string> available_containers();

inline constexpr std::string_view kOwnerLabel = "nocturne.owner";
/// "nocturne-" and the run's id.
[[nodiscard]] std::string container_name(const std::string& run_id);
/// Ascending; those left out that a mount above them covers. What is spelled through a symbolic link is not resolved.
[[nodiscard]] std::vector<ContainerMount> least_mounts(std::vector<ContainerMount> mounts);
/// Whether `path` is `folder` or below it, as spelled.
[[nodiscard]] bool lies_in(const std::filesystem::path& path, const std::filesystem::path& folder);
/// The sentence where an order cannot be expressed: a mount that is not absolute or holds one of `separators`.
[[nodiscard]] std::optional<std::string> problem_of(const ContainerOrder& order, std::string_view separators);

// Clears what killed tuners left in the storage of runtimes: containers whose owner is gone. Their processes are found
// and ended by sweep() (measure/run/sweep.hpp) as well; this removes the runtime's record of them.

/// Reads the lines "ID OWNER" of ContainerRuntime::list_command and returns the ids whose owner is no living process.
/// Lines whose owner cannot be understood are ignored: those containers are not ours.
[[nodiscard]] std::vector<std::string> ownerless(std::string_view lines);

/// Removes them, for each runtime given; how many. A runtime that does not answer is passed over.
std::size_t sweep_containers(std::span<const ContainerRuntime* const> runtimes);

}  // namespace nocturne::measure
