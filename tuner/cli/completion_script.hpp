#pragma once

/// Completion scripts, made from the command line itself: a new subcommand or option needs nothing here.

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/cli/app.hpp"

namespace nocturne::cli {

/// bash, zsh, fish.
[[nodiscard]] const std::vector<std::string>& completion_shells();

/// The script for a shell. What follows an option that takes a value is left to the shell, which completes file names.
/// The error names the shells there are.
[[nodiscard]] std::expected<std::string, std::string> completion_script(const CLI::App& root, std::string_view shell);

}  // namespace nocturne::cli
