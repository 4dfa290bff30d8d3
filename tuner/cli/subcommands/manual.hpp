#pragma once

/// `nocturne manual`: prints docs/reference.md, or writes man pages. Not shown in `--help`: it serves the build, the
/// documentation and whoever makes a package.

#include <string>

#include "tuner/cli/app.hpp"

#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"

namespace nocturne::cli {

struct ManualOptions {
  bool table = false;      ///< print README.md's table of subcommands instead
  std::string man_folder;  ///< write man pages into this folder instead; empty: print Markdown
};

void setup(CLI::App& subcommand, ManualOptions& options);
[[nodiscard]] ExitCode run(const ManualOptions& options, Context& context);

}  // namespace nocturne::cli
