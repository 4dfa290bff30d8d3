#pragma once

/// Any text as words of a POSIX shell, so that no value can become a command.

#include <span>
#include <string>
#include <string_view>

namespace nocturne::measure {

/// One word, wherever it stands: as it is where every character is harmless (letters, digits, `_ - . / : , + @ %`),
/// else in single quotes, in which POSIX (XCU 2.2.2) gives nothing a meaning; a single quote itself leaves them: '\''.
/// No argument can hold a NUL: it and what follows is dropped.
[[nodiscard]] std::string shell_quote(std::string_view text);

/// A command, its words joined by spaces. Behind the first one, which it would make an assignment, `=` is harmless too;
/// not as a word's first character, where some shells look for a program of that name.
[[nodiscard]] std::string shell_command(std::span<const std::string> words);

/// Is this a name a shell can assign to ([A-Za-z_][A-Za-z0-9_]*)?
[[nodiscard]] bool is_variable_name(std::string_view name);

}  // namespace nocturne::measure
