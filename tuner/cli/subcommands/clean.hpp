#pragma once

/// `nocturne clean`: drops old run folders and builds, and environments where asked to. What was measured is in the
/// database and stays.

#include <string>

#include "tuner/cli/app.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

struct CleanOptions {
  std::string older_than;     ///< a duration, "30d"; empty: 30 days where no size is given either
  std::string max_size;       ///< "10GiB"
  bool environments = false;  ///< those of frameworks, too
  bool yes = false;           ///< false: say what would go, and remove nothing
};

void setup(CLI::App& subcommand, CleanOptions& options);
/// Negative where something could not be removed.
[[nodiscard]] ExitCode run(const CleanOptions& options, Context& context);

}  // namespace nocturne::cli
