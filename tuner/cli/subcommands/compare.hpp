#pragma once

/// `nocturne compare A B…`: configurations of a campaign in columns, on demand measured in turns.

#include <string>
#include <vector>

#include "tuner/cli/app.hpp"

#include "measure/comparison/planned_looks.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"
#include "tuner/cli/measuring/campaign_source.hpp"

namespace nocturne::cli {

struct CompareOptions {
  std::vector<std::string> sides;  ///< words; the first is the reference
  CampaignSourceOptions source;
  bool measure = false;
  measure::ComparisonPolicy policy;
  std::string time;  ///< for all of it; empty: not bounded
};

void setup(CLI::App& subcommand, CompareOptions& options);
/// Negative: with --measure, none of them could be compared with the first. NotFound: without it, none was measured.
[[nodiscard]] ExitCode run(const CompareOptions& options, Context& context);

}  // namespace nocturne::cli
