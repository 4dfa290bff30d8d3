#pragma once

/// `nocturne verify PROFILE`: does it still hold, here and now?

#include <filesystem>
#include <string>
#include <vector>

#include "tuner/cli/app.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

struct VerifyOptions {
  std::vector<std::string> profiles;  ///< files, or names of campaigns that were exported
  bool all = false;                   ///< every profile of the profiles folder
  int pairs = 6;
  int most_pairs = 20;
  double margin_percent = 1;
  std::string time;  ///< for all of them; empty: as long as it takes
};

void setup(CLI::App& verb, VerifyOptions& options);
/// Several, or with a limit of time: one sequential test over all (verify_family.cpp). Ok: all hold. Negative: one does
/// not. Usage (2): one could not be measured, and none was found not to hold.
[[nodiscard]] ExitCode run(const VerifyOptions& options, Context& context);

/// The sequential test. REQUIRES: files is not empty, the folders are made.
[[nodiscard]] ExitCode run_family(const VerifyOptions& options, Context& context,
                                  const std::vector<std::filesystem::path>& files);

}  // namespace nocturne::cli
