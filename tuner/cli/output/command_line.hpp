#pragma once

/// Commands on pages, ready to be pasted into a shell.

#include <string_view>

#include "tuner/cli/context.hpp"

namespace nocturne::cli {

/// "Apply it  nocturne apply PROFILE -- COMMAND" on context.out: a command for a shell in the column of a page's texts,
/// behind a heading of at most nine characters or none; in several lines with backslashes where the page is narrow.
void print_command(const Context& context, std::string_view heading, std::string_view command);

}  // namespace nocturne::cli
