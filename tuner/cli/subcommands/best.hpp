#pragma once

/// `nocturne best [CAMPAIGN] [--epochs N] [--by PARAMETER]`: the best configuration with its verdict against the
/// default, or the levels of a parameter by the best measured with each.

#include <optional>
#include <string>

#include "tuner/cli/app.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

struct BestOptions {
  CampaignChoice campaign;
  std::optional<double> epochs;  ///< another horizon than the campaign's own; composed of the parts of each trial
  std::string by{};              ///< a parameter; empty: the page of the best
};

void setup(CLI::App& subcommand, BestOptions& options);
/// NotFound where nothing has trained yet.
[[nodiscard]] ExitCode run(const BestOptions& options, Context& context);

}  // namespace nocturne::cli
