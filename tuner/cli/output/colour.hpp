#pragma once

/// Colours for a terminal, nothing elsewhere (Context::colour_out says which).

#include <string>
#include <string_view>

namespace nocturne::cli {

enum class Style { Plain, Good, Bad, Warning, Faint, Strong };

/// Text in that style, by ANSI escape sequences (ECMA-48, SGR), or as it is where `enabled` is false.
[[nodiscard]] std::string coloured(std::string_view text, Style style, bool enabled);

}  // namespace nocturne::cli
