#pragma once

/// `nocturne VERB …`: parses the arguments and runs the verb.

#include <span>
#include <string>
#include <vector>

#include "tuner/cli/context.hpp"
#include "tuner/cli/exit_codes.hpp"
#include "tuner/cli/verb.hpp"

namespace nocturne::cli {

/// Every verb there is, group by group, in the order in which `--help` shows them. Add yours here (cli.cpp).
[[nodiscard]] const std::vector<Verb>& verbs();

/// `arguments` without the program's name. Reports what it cannot understand on context.err with the nearest name;
/// the only place where exceptions of verbs end. The context's streams must be set.
[[nodiscard]] ExitCode run_command_line(std::span<const std::string> arguments, Context& context);

}  // namespace nocturne::cli
