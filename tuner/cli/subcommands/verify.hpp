#pragma once

/// `nocturne verify PROFILE`: does it still hold, here and now?

#include <string>
#include <vector>

#include "tuner/cli/app.hpp"

#include "measure/comparison/planned_looks.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

struct VerifyOptions {
  std::vector<std::string> profiles;  ///< files, or names of campaigns that were exported
  bool all = false;                   ///< every profile of the profiles folder
  measure::ComparisonPolicy policy;
  std::string time;  ///< for all of them; empty: as long as it takes
};

void setup(CLI::App& subcommand, VerifyOptions& options);
/// All profiles are one sequential test. Ok: all hold. Negative: one does not. Unavailable: one could not be measured,
/// and none was found not to hold.
[[nodiscard]] ExitCode run(const VerifyOptions& options, Context& context);

}  // namespace nocturne::cli
