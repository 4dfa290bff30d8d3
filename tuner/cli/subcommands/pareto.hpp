#pragma once

/// `nocturne pareto [CAMPAIGN] [--wanted time:12,memory]`: what is best for whom, and from how many epochs on.

#include <string>
#include <vector>

#include "tuner/cli/app.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

struct ParetoOptions {
  CampaignChoice campaign;
  std::vector<std::string> wanted;  ///< empty: the horizons of the campaign, throughput and memory
};

void setup(CLI::App& subcommand, ParetoOptions& options);
/// NotFound where nothing has trained yet.
[[nodiscard]] ExitCode run(const ParetoOptions& options, Context& context);

}  // namespace nocturne::cli
