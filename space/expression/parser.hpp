#pragma once

/// Tokens to a checked tree: recursive descent over Python's grammar of expressions. Internal to space.

#include <expected>
#include <memory>
#include <span>
#include <string_view>

#include "space/expression/tree.hpp"

namespace nocturne::space {

[[nodiscard]] std::expected<std::shared_ptr<const Expression::Tree>, ExpressionError> parse_expression(
    std::string_view text, std::span<const Parameter> parameters, const Facts& facts);

}  // namespace nocturne::space
