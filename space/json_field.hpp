#pragma once

/// Fields of JSON objects that another program, or another version of this one, may have written. Nothing in them is
/// believed but its type, and nothing that is missing is an error.

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace nocturne::space {

/// Whether the value can be read as a T without loss of meaning.
template <typename T>
[[nodiscard]] bool is_of_type(const nlohmann::json& value) {
  if constexpr (std::same_as<T, bool>) {
    return value.is_boolean();
  } else if constexpr (std::integral<T>) {
    return value.is_number_integer();
  } else if constexpr (std::floating_point<T>) {
    return value.is_number();
  } else {
    static_assert(std::same_as<T, std::string>);
    return value.is_string();
  }
}

/// Leaves `out` as it is where the key is absent or its value is of another type.
template <typename T>
void take_field(const nlohmann::json& document, const char* key, T& out) {
  const auto found = document.find(key);
  if (found != document.end() && is_of_type<T>(*found)) out = found->template get<T>();
}

template <typename T>
void take_field(const nlohmann::json& document, const char* key, std::optional<T>& out) {
  const auto found = document.find(key);
  if (found != document.end() && is_of_type<T>(*found)) out = found->template get<T>();
}

// How deep the brackets of JSON text are nested. What others may have written is looked at before it is parsed:
// copying and writing a document recurse, and half a million opening brackets would end this program.

/// Our own formats need less than ten.
inline constexpr std::size_t kDeepestNesting = 100;

/// Whether more than that are open at once, brackets within strings aside. Text that is no JSON gets some answer.
[[nodiscard]] bool is_nested_too_deep(std::string_view json_text);

/// Offset of the first bracket that is nested within so many others; empty: there is none.
[[nodiscard]] std::optional<std::size_t> bracket_within(std::string_view json_text, std::size_t others);

}  // namespace nocturne::space
