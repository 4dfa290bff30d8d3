#pragma once

/// Any text in a shell script, as a word (measure/run/shell_words.hpp), in a comment, in a variable's name.

#include <string>
#include <string_view>

#include "measure/run/shell_words.hpp"

namespace nocturne::deploy {

using measure::shell_command;
using measure::shell_quote;

/// Text for a comment: one line, control characters replaced by '?', so that no newline ends the comment.
[[nodiscard]] std::string comment_text(std::string_view text);

/// Is this a name a shell can assign to ([A-Za-z_][A-Za-z0-9_]*)?
[[nodiscard]] bool is_variable_name(std::string_view name);

/// A parameter's name as part of a variable's: upper case, everything else than letters and digits an underscore.
[[nodiscard]] std::string variable_part(std::string_view parameter);

}  // namespace nocturne::deploy
