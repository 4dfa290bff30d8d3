#pragma once

/// Environments made from recipes: installed once, atomically, shared by campaigns.
///
///   ROOT/NAME-<key, 12 digits>/   bin/python …, lock.txt (versions, hashes), manifest.json, install.log
///   ROOT/NAME.current             text file with the folder's name: which one counts now; replaced by rename
///   ROOT/.lock/NAME               held (flock) while one is made or removed: whoever comes second waits
///   ROOT/.making/…                incomplete ones, never used; swept when a store is opened or the recipe is installed
///   ROOT/.downloads/NAME/         the installer's cache, so that a later install goes on; gone once it is whole
///   ROOT/.log/NAME.txt            output of the latest installation, failed ones too
///
/// An environment is made in .making and then renamed: `bin/python` and what it imports survive that. Console scripts
/// (bin/pip, …) name their interpreter by its old path and do not: run `bin/python -m NAME` instead.
///
/// The key is SHA-256 over the recipe, the contents of its fix-ups, the resolved versions, the Python's ABI and the
/// platform. What was installed stays as it is until `update` resolves anew.

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

#include "measure/environment/python_finder.hpp"
#include "measure/environment/recipe.hpp"

namespace nocturne::measure {

struct Environment {
  std::string recipe;
  std::string key;                 ///< 64 hexadecimal digits
  std::filesystem::path folder{};  ///< absolute
  std::filesystem::path python{};  ///< FOLDER/bin/python; empty: a library's, which has none
  std::vector<std::string> lock;   ///< "numpy==1.19.5 --hash=sha256:…", ascending
  PythonInterpreter interpreter;   ///< it was made with
  std::uintmax_t bytes = 0;        ///< size on disk
  bool installed_now = false;
  std::chrono::nanoseconds install_time{};  ///< whenever it was
  std::chrono::system_clock::time_point installed{};
  std::chrono::system_clock::time_point last_used{};  ///< last note_use() by a campaign; else when it was installed
};

/// Says that a campaign uses it now: the modification time of its manifest.
void note_use(const Environment& environment);

/// Why there is none. `unavailable`: this machine cannot have it (no such Python, another processor); else it went
/// wrong (network, disk, a package that vanished) and may go right another time.
struct EnvironmentFailure {
  std::string reason{};    ///< one sentence with the remedy
  std::string log_tail{};  ///< end of the installer's output
  bool unavailable = false;
  bool interrupted = false;  ///< the stop token ended it
  bool no_room = false;      ///< the disk was full: no word about the recipe
  bool unreachable = false;  ///< the network was gone, or nobody answered: it may go right in some minutes
};

struct InstallOptions {
  std::filesystem::path fix_ups;  ///< folder of the programs that recipes name
  std::vector<std::string> lock;  ///< install exactly these (requirement.hpp), or refuse; empty: resolve
  std::filesystem::path
      wheels;  ///< folder of the packages, of pip or the distribution, to install from; empty: indexes
  std::chrono::seconds deadline{3600};
  std::int64_t free_bytes_to_keep = std::int64_t{1} << 30;  ///< left on the store's disk beyond the recipe's own size
  std::function<void(std::string_view)>
      progress;  ///< a line a step: "pytorch-1.4: 2/4 torch==1.4.0 (740 MB)"; may be empty
};

class EnvironmentStore {
 public:
  /// Makes the folder (0700) and sweeps incomplete ones whose maker is gone. Throws std::filesystem::filesystem_error.
  explicit EnvironmentStore(const std::filesystem::path& root);

  /// What is installed and whole for this recipe now; nothing is installed. Cheap: reads one manifest. An environment
  /// whose recipe was edited since does not count.
  [[nodiscard]] std::optional<Environment> find(const EnvironmentRecipe& recipe) const;
  /// Finds or installs.
  [[nodiscard]] std::expected<Environment, EnvironmentFailure> obtain(const EnvironmentRecipe& recipe,
                                                                      const PythonPlaces& places,
                                                                      const InstallOptions& options,
                                                                      const std::stop_token& stop = {});
  /// Resolves anew beside the current one, which goes on counting until the new one is whole, and stays for campaigns
  /// that use it until the next update.
  [[nodiscard]] std::expected<Environment, EnvironmentFailure> update(const EnvironmentRecipe& recipe,
                                                                      const PythonPlaces& places,
                                                                      const InstallOptions& options,
                                                                      const std::stop_token& stop = {});
  /// Why obtain() could not work here, without trying: needed Python, commands, instruction sets, disk; empty: nothing
  /// is known against it.
  [[nodiscard]] std::optional<EnvironmentFailure> obstacle(const EnvironmentRecipe& recipe, const PythonPlaces& places,
                                                           const InstallOptions& options) const;
  /// Those that count now and are whole, by name.
  [[nodiscard]] std::vector<Environment> list() const;
  /// All that lie there whole, those too that an update replaced, or whose recipe is gone; by name.
  [[nodiscard]] std::vector<Environment> list_all() const;
  /// False where there is none, or somebody makes it right now. Removes all folders and downloads of the recipe.
  [[nodiscard]] bool remove(const std::string& recipe);
  /// One of list_all(). False where it is gone, or its recipe is being installed right now.
  [[nodiscard]] bool remove(const Environment& environment);
  [[nodiscard]] const std::filesystem::path& root() const { return root_; }

 private:
  [[nodiscard]] std::expected<Environment, EnvironmentFailure> make(const EnvironmentRecipe& recipe,
                                                                    const PythonPlaces& places,
                                                                    const InstallOptions& options,
                                                                    const std::stop_token& stop, bool anew);
  [[nodiscard]] std::expected<Environment, EnvironmentFailure> make_locked(const EnvironmentRecipe& recipe,
                                                                           const PythonPlaces& places,
                                                                           const InstallOptions& options,
                                                                           const std::stop_token& stop);
  [[nodiscard]] std::optional<std::filesystem::path> current_folder(const std::string& recipe) const;
  void remove_folders(const std::string& recipe, const std::vector<std::filesystem::path>& but) const;

  std::filesystem::path root_;
};

}  // namespace nocturne::measure
