#pragma once

/// Fields of JSON objects that another program, or another version of this one, may have written. Nothing in them is
/// believed but its type, and nothing that is missing is an error.

#include <concepts>
#include <optional>
#include <string>

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

}  // namespace nocturne::space
