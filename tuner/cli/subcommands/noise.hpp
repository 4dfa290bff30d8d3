#pragma once

/// `nocturne noise FILE`: a campaign's default against itself.

#include <string>

#include "tuner/cli/app.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

struct NoiseOptions {
  std::string file;
  std::string time = "3min";
};

void setup(CLI::App& subcommand, NoiseOptions& options);
/// Unavailable where the default does not train here.
[[nodiscard]] ExitCode run(const NoiseOptions& options, Context& context);

}  // namespace nocturne::cli
