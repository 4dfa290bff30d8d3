#pragma once

/// `nocturne blame`: what changed since a profile or a campaign was measured, and what of it made it slower.

#include <string>

#include "tuner/cli/app.hpp"

#include "measure/comparison/planned_looks.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

struct BlameOptions {
  std::string what;  ///< a profile's file, the name of a campaign that was exported, or of any campaign
  std::string time;  ///< no pair is begun that would end later; empty: as long as it takes
  measure::ComparisonPolicy policy;
  bool only_list = false;
};

void setup(CLI::App& subcommand, BlameOptions& options);
/// Ok: there is an answer. Negative: it cannot be told. Usage (2): it could not be measured.
[[nodiscard]] ExitCode run(const BlameOptions& options, Context& context);

}  // namespace nocturne::cli
