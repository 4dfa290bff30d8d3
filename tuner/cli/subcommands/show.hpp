#pragma once

/// `nocturne show TRIAL [CAMPAIGN]`: a page on one trial; with --runs everything known of it, and the commands
/// that repeat its runs by hand.

#include <cstdint>

#include "tuner/cli/app.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

struct ShowOptions {
  std::int64_t trial = 0;
  CampaignChoice campaign;
  bool runs = false;     ///< whole runs instead of a line for each
  bool log = false;      ///< the whole stored tail of the output
  bool samples = false;  ///< with --json: the raw samples too
};

void setup(CLI::App& subcommand, ShowOptions& options);
[[nodiscard]] ExitCode run(const ShowOptions& options, Context& context);

}  // namespace nocturne::cli
