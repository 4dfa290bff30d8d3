#pragma once

/// The text of a Python list, as T1 problem files write the values of a parameter. Parsed, never executed.
///
///   [1, 2, 4]   ("a", "b")   [2 * 16, 2**6]                 items are expressions of space/expression/expression.hpp
///   range(1, 9)   range(8, 0, -2)   list(range(4))            also tuple( ) and sorted( )
///   [128 + 64 * i for i in range(15)]   [2**i for i in [1, 3, 5] if i != 3]

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "space/value.hpp"

namespace nocturne::search::replay {

/// What is wrong with such a text.
struct PythonError {
  std::size_t position = 0;  ///< byte offset
  std::string message;       ///< one sentence
};

/// At most kMaxValues values (foreign_rows.hpp), texts of at most kMaxPythonText bytes, eight levels of brackets: a
/// range is counted before it is walked. Repeated values are an error.
[[nodiscard]] std::expected<std::vector<space::Value>, PythonError> parse_python_values(std::string_view text);

inline constexpr std::size_t kMaxPythonText = std::size_t{1} << 20U;

}  // namespace nocturne::search::replay
