#pragma once

/// Runs any command the way the profile's configuration was measured: environment, allocator, threads, CPUs.

#include <expected>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "space/fingerprint.hpp"
#include "tuner/deploy/profile.hpp"

namespace nocturne::deploy {

/// What the machine at hand is, for the comparison with the profile's.
struct ApplyMachine {
  space::Fingerprint fingerprint;
  std::vector<int> allowed_cpus;  ///< ascending
};

/// What would be executed, and what speaks against it.
struct ApplyPlan {
  std::vector<std::string> argv;
  std::map<std::string, std::string> set;  ///< environment variables, LD_PRELOAD included
  std::vector<std::string> unset;
  std::vector<int> cpus;                 ///< empty: as they are
  measure::MemoryPolicy memory{};        ///< not set: as it is
  std::filesystem::path working_folder;  ///< empty: as it is
  std::vector<std::string> clean_up;     ///< removes the container where it did not end by itself; empty: nothing to
  std::vector<std::string> objections;   ///< sentences; any: refuse
  std::vector<std::string> warnings;     ///< sentences
  /// Fields that must match and do not (Match::Must), or are to be verified.
  std::vector<space::FingerprintDifference> differences;
};

/// Plans `command`, which must not be empty, outside of any container. Checks the machine's fingerprint, the libraries
/// to preload and the CPUs. With `force` the CPUs are cut to those that are allowed, and left as they are where none
/// is.
[[nodiscard]] ApplyPlan plan_apply(const Profile& profile, std::vector<std::string> command,
                                   const ApplyMachine& machine, bool force);

/// The same in `folder` (empty: as it is), in the profile's container where it was measured in one. `watched`: a folder
/// into which the module in front of a script shall write its steps (events.jsonl, which is there); empty: nobody
/// looks.
[[nodiscard]] ApplyPlan plan_command(const Profile& profile, std::vector<std::string> command,
                                     const std::filesystem::path& folder, const ApplyMachine& machine, bool force,
                                     const std::filesystem::path& watched = {});

/// The profile's own training: its program with the request and event files in `folder`. Objects where the program or
/// the data folder is missing. The request itself is the caller's to write.
[[nodiscard]] ApplyPlan plan_training(const Profile& profile, const std::filesystem::path& folder,
                                      const std::filesystem::path& data_folder, const ApplyMachine& machine,
                                      bool force);

/// As a shell line, for `--dry-run`.
[[nodiscard]] std::string shell_line(const ApplyPlan& plan);

enum class ExecuteStep { Prepare, NotFound, NotExecutable };
struct ExecuteFailure {
  ExecuteStep step;
  std::string message;  ///< a sentence
};

/// Becomes the command (execvp): returns only if that failed. SIGPIPE, which this program ignores, is as usual again.
[[nodiscard]] ExecuteFailure execute(const ApplyPlan& plan);

}  // namespace nocturne::deploy
