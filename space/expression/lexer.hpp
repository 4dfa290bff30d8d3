#pragma once

/// Text of an expression to tokens. Internal to space.

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "space/expression/expression.hpp"

namespace nocturne::space {

struct Token {
  enum class Kind : std::uint8_t { End, Name, Integer, Real, Text, Symbol };
  Kind kind = Kind::End;
  std::uint32_t position = 0;
  std::string_view spelling;  // as written; a view of the expression's text
  std::int64_t integer = 0;   // Integer
  double real = 0;            // Real
  std::string text;           // Text, escapes resolved
};

/// The last token is End. Names include words (and, or, not, in, True, False) and dotted names.
[[nodiscard]] std::expected<std::vector<Token>, ExpressionError> tokenize(std::string_view text);

}  // namespace nocturne::space
