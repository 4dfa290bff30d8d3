#pragma once

/// `nocturne model [CAMPAIGN]`: what the linear model has learnt of a campaign, and how far it can be trusted.

#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

struct ModelOptions {
  CampaignChoice campaign;
};

void setup(CLI::App& subcommand, ModelOptions& options);
/// NotFound where too few trials worked.
[[nodiscard]] ExitCode run(const ModelOptions& options, Context& context);

}  // namespace nocturne::cli
