#pragma once

/// Images made from recipes: made once, atomically, shared by campaigns, kept until removed.
///
///   ROOT/NAME-<key, 12 digits>/     root/ (kind debootstrap, or what a runtime unpacked), manifest.json, log.txt,
///                                   RUNTIME.json (the image's id in that runtime's storage)
///   ROOT/.lock/NAME-<key>           held (flock) while one is made or removed: whoever comes second waits
///   ROOT/.making/…                  incomplete ones, never used; swept where their maker is gone
///
/// The key is SHA-256 over the recipe. The digest, which enters the identity of what is measured, is over what came
/// out: of `debootstrap` the installed packages with their versions, of a `folder` its files, else the id in the
/// runtime's storage or the registry's digest. Mount points are made in root/ by those who run it: empty folders, not
/// counted.

#include <chrono>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "measure/container/container.hpp"
#include "measure/container/image_recipe.hpp"

namespace nocturne::measure {

struct StoredImage {
  std::string name;
  std::string digest;  ///< digest of the root file system; empty if only runtimes hold it
  std::filesystem::path folder;
  std::uintmax_t bytes = 0;  ///< size of root/
};

struct ImageFailure {
  std::string reason;    ///< one sentence with the remedy
  std::string log_tail;  ///< end of what the programs printed
  bool interrupted = false;
  bool unsupported = false;  ///< the runtime has no such form of it, or not here
  bool no_room = false;      ///< the disk was full: no word about the image
  bool unreachable = false;  ///< the network was gone, or nobody answered: it may go right in some minutes
};

struct ImageOptions {
  std::chrono::seconds deadline{1800};             ///< time limit for making one image
  std::function<void(std::string_view)> progress;  ///< a line a step; may be empty
  std::string form{kFolderForm};                   ///< image_form.hpp; its file is made when it is run
};

/// Several processes may use a folder at the same time; one instance is not thread-safe.
class ImageStore {
 public:
  /// Makes the folder and sweeps incomplete images whose maker is gone. Throws std::filesystem::filesystem_error.
  explicit ImageStore(const std::filesystem::path& root);

  /// Finds or makes the image in the form that the runtime runs. `stop` ends a program within a second.
  [[nodiscard]] std::expected<ContainerImage, ImageFailure> obtain(const ImageRecipe& recipe,
                                                                   const ContainerRuntime& runtime,
                                                                   const ImageOptions& options,
                                                                   const std::stop_token& stop = {});
  /// Whole ones, by name. Looks at every file for the sizes.
  [[nodiscard]] std::vector<StoredImage> list() const;
  /// Whether a whole one has this name.
  [[nodiscard]] bool has(std::string_view name) const;
  /// All images of this recipe's name; false where there is none, or one is being made. What runtimes imported stays in
  /// their storage.
  bool remove(const std::string& name);
  [[nodiscard]] const std::filesystem::path& root() const { return root_; }

 private:
  /// In no order, without their sizes.
  [[nodiscard]] std::vector<StoredImage> whole_ones() const;

  std::filesystem::path root_;
};

/// Makes empty folders, and empty files for files, where mounts will be; whether any was missing. The error is a
/// sentence.
[[nodiscard]] std::expected<bool, std::string> make_mount_points(const std::filesystem::path& root,
                                                                 const std::vector<ContainerMount>& mounts);

/// "sha256:…" over names and versions of the packages installed in a Debian root file system; empty where there is no
/// list of them.
[[nodiscard]] std::string digest_of_packages(const std::filesystem::path& root);
/// "sha256:…" over the paths, kinds, permissions and contents of all files below `root`, empty folders left out.
[[nodiscard]] std::string digest_of_files(const std::filesystem::path& root);

}  // namespace nocturne::measure
