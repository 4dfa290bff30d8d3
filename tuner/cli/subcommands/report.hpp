#pragma once

/// `nocturne report paper`: what the paper published results, and what this machine says to it.

#include <string>

#include "tuner/cli/app.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"
#include "tuner/cli/measuring/campaign_source.hpp"

namespace nocturne::cli {

struct ReportOptions {
  std::string what;
  CampaignSourceOptions source;
  bool measure = false;
  std::string time = "30min";  ///< with `measure`, for all of it
  int pairs = 6;
  bool markdown = false;
};

void setup(CLI::App& subcommand, ReportOptions& options);
/// NotFound: nothing on this machine speaks for or against any published result.
[[nodiscard]] ExitCode run(const ReportOptions& options, Context& context);

}  // namespace nocturne::cli
