#pragma once

/// Enumerations as words: one table gives both directions.

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace nocturne::space {

/// A table lists the words of an enumeration in the order of its enumerators.
template <class Enum>
[[nodiscard]] constexpr std::string_view name_of(Enum value, std::span<const std::string_view> table) {
  return table[static_cast<std::size_t>(value)];
}

template <class Enum>
[[nodiscard]] constexpr std::optional<Enum> named(std::string_view text, std::span<const std::string_view> table) {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i] == text) return static_cast<Enum>(i);
  return std::nullopt;
}

}  // namespace nocturne::space
