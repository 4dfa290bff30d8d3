#pragma once

/// Content-addressed builds of worker programs: made once, made atomically, shared by campaigns.
///
///   ROOT/<key>/   the program, build.log, manifest.json (inputs, flags, compiler, time, size)
///   ROOT/.lock/<key>   held (flock) while a build runs: whoever comes second waits and finds the result
///   ROOT/.making/…     incomplete folders; what is left of a killed build is swept when the store is opened
///
/// The key is SHA-256 over: contents of all sources and of every header the compiler reads outside the system's folders
/// (from its own dependency output), the flags with `native` spelled out by the compiler (a node of another kind never
/// shares), the hash of the compiler and its version text, the contents of the linked libraries, and the names of all
/// this.

#include <chrono>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "measure/artifact/recipe.hpp"

namespace nocturne::measure {

struct Artifact {
  std::string key;                ///< 64 hexadecimal digits
  std::filesystem::path program;  ///< absolute
  bool built_now = false;
  std::chrono::nanoseconds build_time{};  ///< how long the build took, whenever it was
  std::string compiler;                   ///< name and version of the compiler
  std::uintmax_t bytes = 0;               ///< size of the program
};

/// Becomes outcome `build_failed`. Not remembered: a new campaign tries again.
struct BuildFailure {
  std::string reason{};      ///< one line: the first error of the compiler, or what else went wrong
  std::string log_tail{};    ///< end of the build's output
  bool interrupted = false;  ///< the stop token ended it: not the configuration's fault
  bool no_room = false;      ///< its disk was full: not the configuration's fault either, whatever the output says
};

/// Where and how to build, not part of the key except for what it makes the compiler read.
struct BuildOptions {
  /// Prefix of each library a recipe may use: "onednn" → folder with include/ and lib/, "nlohmann-json" → folder with
  /// include/. Absent: the system's own.
  std::map<std::string, std::filesystem::path> prefixes;
  int jobs = 1;                        ///< compilers at a time
  std::chrono::seconds deadline{600};  ///< time limit of one build
  std::vector<int> cpus;               ///< where the compilers may run; empty: anywhere
};

struct StoredArtifact {
  std::string key;
  std::string name;   ///< name of the recipe
  std::string flags;  ///< readable form of the flags
  std::filesystem::path folder{};
  std::uintmax_t bytes = 0;
  std::chrono::system_clock::time_point last_used{};
};

/// One folder of artifacts. Several processes may use it at the same time; one instance is not thread-safe.
/// Last use is the modification time of the artifact's manifest.
class ArtifactStore {
 public:
  /// Creates the folder and sweeps incomplete builds whose maker is gone. Throws std::filesystem::filesystem_error
  /// where the folder cannot be made.
  explicit ArtifactStore(const std::filesystem::path& root);

  /// Finds or builds. `stop` ends a running build within a second.
  [[nodiscard]] std::expected<Artifact, BuildFailure> obtain(const BuildRecipe& recipe, const BuildFlags& flags,
                                                             const BuildOptions& options,
                                                             const std::stop_token& stop = {});
  /// The key alone; costs one run of the preprocessor per source the first time. Later calls of this instance trust an
  /// answer as long as time and size of every file that entered it are the same.
  [[nodiscard]] std::expected<std::string, BuildFailure> key_of(const BuildRecipe& recipe, const BuildFlags& flags,
                                                                const BuildOptions& options,
                                                                const std::stop_token& stop = {});
  /// All complete artifacts, least recently used first.
  [[nodiscard]] std::vector<StoredArtifact> list() const;
  /// False where there is none of this key, or it is being built right now.
  bool remove(const std::string& key);
  [[nodiscard]] const std::filesystem::path& root() const { return root_; }

 private:
  struct KnownFile {
    std::filesystem::path path;
    std::filesystem::file_time_type time;
    std::uintmax_t bytes = 0;
    friend bool operator==(const KnownFile&, const KnownFile&) = default;
  };
  struct KnownKey {
    std::string key;
    nlohmann::json inputs;
    std::vector<KnownFile> files;
  };
  [[nodiscard]] static std::vector<KnownFile> look_at(const std::vector<std::filesystem::path>& files);
  [[nodiscard]] static bool is_unchanged(const std::vector<KnownFile>& files);
  [[nodiscard]] std::expected<KnownKey, BuildFailure> find_key(const BuildRecipe& recipe, const BuildFlags& flags,
                                                               const BuildOptions& options,
                                                               std::chrono::steady_clock::time_point deadline,
                                                               const std::stop_token& stop);
  [[nodiscard]] std::filesystem::path folder_of(const std::string& key) const { return root_ / key; }

  std::filesystem::path root_;
  std::map<std::string, KnownKey> known_;  // by everything the caller gives
};

}  // namespace nocturne::measure
