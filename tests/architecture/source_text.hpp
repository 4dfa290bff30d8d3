#pragma once
/// What of a C++ source is code, and what a comment or a literal.

#include <cstddef>
#include <string_view>

namespace nocturne::architecture {

/// Whether a name may have this letter.
[[nodiscard]] bool is_word(char c);

/// Where the literal or comment that begins at `at` ends; `at` itself where none does.
[[nodiscard]] std::size_t end_of_opaque(std::string_view text, std::size_t at);

}  // namespace nocturne::architecture
