#pragma once

/// `nocturne replay SPACE…`: strategies judged on spaces that others have measured.

#include <cstdint>
#include <string>
#include <vector>

#include "tuner/cli/app.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

struct ReplayOptions {
  std::vector<std::string> spaces;
  std::vector<std::string> strategies = {"auto", "random"};
  std::size_t evaluations = 200;
  std::size_t repeats = 20;
  std::uint64_t seed = 1;
  std::size_t threads = 0;  ///< 0: one a core
  double noise = 0;
  double outliers = 0;
  double failures = 0;
  std::size_t dummies = 0;
  std::size_t cap = 1000;            ///< evaluations that the score looks at
  bool calibration = false;          ///< check what auto claims
  std::string trace;                 ///< file, or empty
  std::string save;                  ///< folder to write the spaces to, instead of replaying; or empty
  std::vector<std::string> history;  ///< databases and recorded spaces
  std::size_t history_trials = 100;  ///< trials taken from each recorded space
  std::string campaign;              ///< campaign to read in databases among the spaces; empty: the one opened last
};

void setup(CLI::App& subcommand, ReplayOptions& options);
/// Usage where a space cannot be understood or a strategy is unknown.
[[nodiscard]] ExitCode run(const ReplayOptions& options, Context& context);

}  // namespace nocturne::cli
