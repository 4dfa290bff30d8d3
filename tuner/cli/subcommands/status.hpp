#pragma once

/// `nocturne status [CAMPAIGN]`: what a campaign is doing now, and its answer so far. For another terminal: reads the
/// database and the heartbeat, writes nothing, takes no lock.

#include "tuner/cli/app.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

struct StatusOptions {
  CampaignChoice campaign;
};

void setup(CLI::App& subcommand, StatusOptions& options);
[[nodiscard]] ExitCode run(const StatusOptions& options, Context& context);

}  // namespace nocturne::cli
