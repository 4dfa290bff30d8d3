#pragma once

/// `nocturne machine`: what this machine can do at best.

#include <string>

#include "tuner/cli/app.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

struct MachineOptions {
  bool measure = false;
  double seconds = 20;  ///< for all measurements
  std::string disk;     ///< a folder on the disk to measure; empty: where runs are kept
};

void setup(CLI::App& subcommand, MachineOptions& options);
/// NotFound where it was not measured yet; Unavailable where it cannot be.
[[nodiscard]] ExitCode run(const MachineOptions& options, Context& context);

}  // namespace nocturne::cli
