#pragma once

/// Copies of what a run loads, on a disk of this node: environments and builds lie in the data folder, which a cluster
/// shares over a network, and imports from there would be measured as start-up.
///
///   LOCAL/nocturne-UID/NAME-<16 digits>/   a copy, whole since it was put there by a rename; its file .copied says so
///   LOCAL/nocturne-UID/.lock/NAME          held (flock) while a copy of that name is made
///   LOCAL/nocturne-UID/.lock/NAME-<…>      shared by those who use that copy: nobody removes it meanwhile
///   LOCAL/nocturne-UID/.making/…           incomplete ones (measure/artifact/lock.hpp)
///
/// The times of files are kept, for Python takes a module that was compiled before by the time of its source. An
/// environment was renamed when it was made, so it names its own place nowhere: `bin/python` of the copy imports from
/// the copy. The Python that it was made from stays where it is.
///
/// Nothing here fails a trial: what cannot be copied is loaded from where it lies, with a sentence.

#include <cstdint>
#include <expected>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "measure/artifact/lock.hpp"
#include "measure/environment/environment_store.hpp"

namespace nocturne::tuner {

/// The variable that names LOCAL on a node.
inline constexpr const char* kLocalFolderVariable = "NOCTURNE_LOCAL_FOLDER";

struct StagedFolder {
  std::string name{};      ///< a copy of this name with another identity is removed; without '/'
  std::string identity{};  ///< which one it is: where this differs it is copied anew
  std::filesystem::path folder{};
  std::vector<std::filesystem::path> files{};  ///< relative to it; empty: all of it
};

/// One instance serves one executor, and keeps what it has given while it lives. Not thread-safe.
class Staging {
 public:
  struct Options {
    std::filesystem::path folder{};                      ///< LOCAL; empty: nothing is copied, and nothing is said
    std::function<void(const std::string&)> note{};      ///< hears why something is not copied; may be empty
    std::function<void(std::string_view)> progress{};    ///< hears that something is being copied; may be empty
    std::int64_t keep_bytes = std::int64_t{256} << 20U;  ///< that stay free on that disk, for what runs there
  };
  explicit Staging(Options options) : options_(std::move(options)) {}

  /// Where it is to be loaded from: the copy, made now or before, else `wanted.folder`. What failed is not tried again
  /// by this instance, what was stopped is: the stop ends a copy between two files.
  [[nodiscard]] std::filesystem::path stage(const StagedFolder& wanted, const std::stop_token& stop);
  /// The same environment, in its copy where there is one.
  [[nodiscard]] measure::Environment stage(const measure::Environment& environment, const std::stop_token& stop);

 private:
  struct Copy {
    std::filesystem::path folder{};
    std::optional<measure::FileLock> in_use{};  ///< empty: there is none, and `folder` is the original
  };

  [[nodiscard]] std::expected<Copy, std::string> obtain(const StagedFolder& wanted, const std::stop_token& stop);
  [[nodiscard]] std::expected<void, std::string> make(const StagedFolder& wanted, const std::filesystem::path& place,
                                                      const std::stop_token& stop);
  /// Makes LOCAL/nocturne-UID, the first time. The error says why nothing can be copied there.
  [[nodiscard]] std::expected<void, std::string> open();
  /// Removes those copies that nobody uses.
  void remove_unused(const std::function<bool(const std::filesystem::path&)>& is_unwanted) const;

  Options options_;
  std::filesystem::path root_;
  std::map<std::string, Copy> known_;  // by name and identity
};

}  // namespace nocturne::tuner
