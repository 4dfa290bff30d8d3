#pragma once

/// Any text as one word of a POSIX shell, so that no value can become a command.

#include <span>
#include <string>
#include <string_view>

namespace nocturne::deploy {

/// One word: as it is where every character is harmless (letters, digits, `_ - . / : , + @ %`), else in single quotes,
/// in which POSIX (XCU 2.2.2) gives nothing a meaning; a single quote itself leaves them: '\''. No argument can hold a
/// NUL: it and what follows is dropped.
[[nodiscard]] std::string shell_quote(std::string_view text);

/// Words joined by spaces.
[[nodiscard]] std::string shell_command(std::span<const std::string> words);

/// Text for a comment: one line, control characters replaced by '?', so that no newline ends the comment.
[[nodiscard]] std::string comment_text(std::string_view text);

/// Is this a name a shell can assign to ([A-Za-z_][A-Za-z0-9_]*)?
[[nodiscard]] bool is_variable_name(std::string_view name);

/// A parameter's name as part of a variable's: upper case, everything else than letters and digits an underscore.
[[nodiscard]] std::string variable_part(std::string_view parameter);

}  // namespace nocturne::deploy
