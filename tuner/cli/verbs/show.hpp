#pragma once

/// `nocturne show TRIAL [CAMPAIGN]`: everything known of one trial, and the command that repeats its run by hand.

#include <cstdint>

#include <CLI/CLI.hpp>

#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

struct ShowOptions {
  std::int64_t trial = 0;
  CampaignChoice campaign;
  bool log = false;      ///< the whole stored tail of the output
  bool samples = false;  ///< with --json: the raw samples too
};

void setup(CLI::App& verb, ShowOptions& options);
[[nodiscard]] ExitCode run(const ShowOptions& options, Context& context);

}  // namespace nocturne::cli
