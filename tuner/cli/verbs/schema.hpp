#pragma once

/// `nocturne schema`: the JSON Schema of campaign files, for editors and for reading.

#include <CLI/CLI.hpp>

#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

struct SchemaOptions {};

void setup(CLI::App& verb, SchemaOptions& options);
[[nodiscard]] ExitCode run(const SchemaOptions& options, Context& context);

}  // namespace nocturne::cli
