#pragma once

/// How deep the brackets of JSON text are nested. What others may have written is looked at before it is parsed:
/// copying and writing a document recurse, and half a million opening brackets would end this program.

#include <cstddef>
#include <optional>
#include <string_view>

namespace nocturne::space {

/// Our own formats need less than ten.
inline constexpr std::size_t kDeepestNesting = 100;

/// Whether more than that are open at once, brackets within strings aside. Text that is no JSON gets some answer.
[[nodiscard]] bool is_nested_too_deep(std::string_view json_text);

/// Offset of the first bracket that is nested within so many others; empty: there is none.
[[nodiscard]] std::optional<std::size_t> bracket_within(std::string_view json_text, std::size_t others);

}  // namespace nocturne::space
