#pragma once

/// The names that stand in the text of an expression, without parsing it: it may be one that cannot be parsed.

#include <set>
#include <string>
#include <string_view>

namespace nocturne::tuner {

/// Words of letters, digits, '_' and '.' outside quotes that begin with a letter or '_': "a.b > 1 and c" gives a.b,
/// and, c.
[[nodiscard]] std::set<std::string> expression_words(std::string_view expression);

}  // namespace nocturne::tuner
