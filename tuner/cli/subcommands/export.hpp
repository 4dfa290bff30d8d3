#pragma once

/// `nocturne export [CAMPAIGN]`: writes the best configuration down for a deployment.

#include <optional>
#include <string>

#include "tuner/cli/app.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

struct ExportOptions {
  CampaignChoice campaign;
  std::optional<double> epochs;
  std::string format;  ///< empty: by the extension of `output`, else all formats
  bool force = false;  ///< although nothing proves it faster than the default
  std::string output;  ///< empty: the profiles folder; "-": standard output
};

void setup(CLI::App& subcommand, ExportOptions& options);
/// Negative where the best is not proven faster than the default, and not forced. Unavailable where the file cannot be
/// written or the build of the best configuration is gone.
[[nodiscard]] ExitCode run(const ExportOptions& options, Context& context);

}  // namespace nocturne::cli
