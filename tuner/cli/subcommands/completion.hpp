#pragma once

/// `nocturne completion SHELL`: a script that completes subcommands and options.

#include <string>

#include "tuner/cli/app.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

struct CompletionOptions {
  std::string shell;
};

void setup(CLI::App& subcommand, CompletionOptions& options);
[[nodiscard]] ExitCode run(const CompletionOptions& options, Context& context);

}  // namespace nocturne::cli
