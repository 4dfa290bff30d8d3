#pragma once

/// `nocturne tune FILE`, `nocturne tune -- COMMAND`: starts a campaign, or goes on with it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tuner/cli/app.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"
#include "tuner/cli/measuring/machine_measuring.hpp"
#include "tuner/cli/measuring/on_finish.hpp"
#include "tuner/cli/measuring/preflight.hpp"
#include "tuner/cli/subcommands/tune_command.hpp"

namespace nocturne::cli {

struct TuneOptions {
  std::string file;  ///< or a command behind `--`
  CommandOptions command;
  bool fresh = false;
  std::optional<std::int64_t> trials;  ///< these six replace what the file says
  std::string wall;
  std::string until;
  std::string strategy;
  std::optional<std::uint64_t> seed;
  bool no_history = false;
  std::vector<std::string> measure;  ///< configurations that the user wants measured: name=value,…
  OnFinish on_finish;
  PreflightOptions preflight;
  bool no_noise = false;
  MachineMeasuringOptions machine;
  std::string grace = "20s";  ///< after SIGTERM, for the run in flight
};

void setup(CLI::App& subcommand, TuneOptions& options);
[[nodiscard]] ExitCode run(const TuneOptions& options, Context& context);

}  // namespace nocturne::cli
