#pragma once

/// `nocturne explain [CAMPAIGN]`: which parameters made the difference, as far as the trials show it.
/// `nocturne explain CONFIGURATION|TRIAL [CAMPAIGN]`: what the model says of one configuration.

#include <optional>
#include <string>

#include "tuner/cli/app.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

struct ExplainOptions {
  std::string what;  ///< a configuration, a trial's number, or the campaign's name
  CampaignChoice campaign;
  std::optional<double> epochs;
};

void setup(CLI::App& subcommand, ExplainOptions& options);
/// NotFound where no trial has finished; Usage where the configuration is none.
[[nodiscard]] ExitCode run(const ExplainOptions& options, Context& context);

}  // namespace nocturne::cli
