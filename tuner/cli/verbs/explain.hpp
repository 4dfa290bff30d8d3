#pragma once

/// `nocturne explain [CAMPAIGN]`: which parameters made the difference, as far as the trials show it.

#include <optional>

#include <CLI/CLI.hpp>

#include "tuner/cli/campaign_choice.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

struct ExplainOptions {
  CampaignChoice campaign;
  std::optional<double> epochs;
};

void setup(CLI::App& verb, ExplainOptions& options);
/// NotFound where no trial has finished.
[[nodiscard]] ExitCode run(const ExplainOptions& options, Context& context);

}  // namespace nocturne::cli
