#pragma once

/// `nocturne roofline [CAMPAIGN]`: how far from possible each configuration is.

#include <cstdint>
#include <optional>

#include "tuner/cli/app.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

struct RooflineOptions {
  CampaignChoice campaign;
  std::optional<std::int64_t> trial;  ///< layer by layer
};

void setup(CLI::App& subcommand, RooflineOptions& options);
/// Negative for a command of the user's own; NotFound where the machine was not measured, or no trial.
[[nodiscard]] ExitCode run(const RooflineOptions& options, Context& context);

}  // namespace nocturne::cli
