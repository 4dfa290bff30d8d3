#pragma once

/// `nocturne space FILE`: what a campaign file describes, before anything is measured.

#include <cstdint>
#include <optional>
#include <string>

#include "tuner/cli/app.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

struct SpaceOptions {
  std::string file;
  std::optional<std::int64_t> list;    ///< print the first N valid configurations
  std::optional<std::int64_t> sample;  ///< print N valid configurations drawn at random
  std::uint64_t seed = 1;              ///< seed of the drawn configurations
};

void setup(CLI::App& subcommand, SpaceOptions& options);
/// Usage where the file has problems.
[[nodiscard]] ExitCode run(const SpaceOptions& options, Context& context);

}  // namespace nocturne::cli
