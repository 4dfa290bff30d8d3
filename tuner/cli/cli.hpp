#pragma once

/// `nocturne SUBCOMMAND …`: parses the arguments and runs the subcommand.

#include <span>
#include <string>
#include <vector>

#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"
#include "tuner/cli/subcommand.hpp"

namespace nocturne::cli {

/// Every subcommand there is, group by group, in the order in which `--help` shows them. Add yours here (cli.cpp).
[[nodiscard]] const std::vector<Subcommand>& subcommands();

/// `arguments` without the program's name. Reports what it cannot understand on context.err with the nearest name;
/// the only place where exceptions of subcommands end. The context's streams must be set.
[[nodiscard]] ExitCode run_command_line(std::span<const std::string> arguments, Context& context);

}  // namespace nocturne::cli
