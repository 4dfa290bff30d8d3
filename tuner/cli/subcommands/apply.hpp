#pragma once

/// `nocturne apply PROFILE [-- COMMAND…]`: runs a command the way the profile was measured.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tuner/cli/app.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

struct ApplyOptions {
  /// A file, the name of a campaign whose profile is in the profiles folder, or a bundle (.nocturne), installed first.
  std::string profile;
  std::vector<std::string> command;  ///< empty: the profile's own training
  bool force = false;
  bool dry_run = false;
  bool no_make = false;  ///< refuse where an environment or a build is missing
  // The profile's own training
  std::optional<std::int64_t> epochs, steps;
  std::optional<std::uint64_t> seed;
  std::string data_set;  ///< another folder than the profile's
  std::string output;    ///< folder for request and events; empty: a new one in the working folder
};

void setup(CLI::App& subcommand, ApplyOptions& options);
/// Returns only where the command did not start: Refused, NotExecutable, NoCommand; Ok for --dry-run. Else the process
/// has become the command, whose exit status is that of `apply`.
[[nodiscard]] ExitCode run(const ApplyOptions& options, Context& context);

}  // namespace nocturne::cli
