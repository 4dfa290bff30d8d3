#pragma once

/// `nocturne doctor`: what this machine can run, what not, why, and what to install.

#include "tuner/cli/app.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

struct DoctorOptions {};

void setup(CLI::App& subcommand, DoctorOptions& options);
/// Ok where a campaign such as examples/mnist.json can run, else Negative.
[[nodiscard]] ExitCode run(const DoctorOptions& options, Context& context);

}  // namespace nocturne::cli
