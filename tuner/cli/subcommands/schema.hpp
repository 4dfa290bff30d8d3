#pragma once

/// `nocturne schema NAME`: the JSON Schema of campaign files and of each document of `--json`.

#include <string>

#include "tuner/cli/app.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

struct SchemaOptions {
  std::string name;   ///< a document's name, or "campaign"; empty: list them
  std::string check;  ///< a file with a document of --json
};

void setup(CLI::App& subcommand, SchemaOptions& options);
[[nodiscard]] ExitCode run(const SchemaOptions& options, Context& context);

}  // namespace nocturne::cli
