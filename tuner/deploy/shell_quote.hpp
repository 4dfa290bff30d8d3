#pragma once

/// Any text in a shell script, as a word (measure/run/shell_words.hpp), in a comment, in a variable's name.

#include <string>
#include <string_view>

#include "measure/run/launch.hpp"
#include "measure/run/shell_words.hpp"

namespace nocturne::deploy {

using measure::is_variable_name;
using measure::shell_command;
using measure::shell_quote;

/// Text for a comment: one line, control characters replaced by '?', so that no newline ends the comment.
[[nodiscard]] std::string comment_text(std::string_view text);

/// A parameter's name as part of a variable's: upper case, everything else than letters and digits an underscore.
[[nodiscard]] std::string variable_part(std::string_view parameter);

/// Lines of a script that start a process so: variables unset and set, then the beginning of a line, "exec taskset -c
/// 0,2-3", that the command completes.
[[nodiscard]] std::string start_lines(const measure::LaunchSettings& launch);

/// What stands before a command's own words so that it runs on these CPUs and memory nodes: " taskset -c 0,2-3 numactl
/// --membind=0"; empty where neither is set.
[[nodiscard]] std::string placing_text(const measure::LaunchSettings& launch);

/// Lines that call the script's `fail` where a program of placing_text() is missing; `code` follows its sentence.
[[nodiscard]] std::string placing_checks(const measure::LaunchSettings& launch, std::string_view code = "");

}  // namespace nocturne::deploy
