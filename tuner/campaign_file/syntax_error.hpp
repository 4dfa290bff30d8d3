#pragma once

/// Turns the JSON parser's message into the words of the user who looks at the line.

#include <cstddef>
#include <string>
#include <string_view>

#include "tuner/campaign_file/problem.hpp"
#include "tuner/campaign_file/text_cursor.hpp"

namespace nocturne::tuner {

struct SyntaxFailure {
  std::string_view message;  ///< message of the parser's exception
  std::size_t bytes_read;    ///< by the parser when it gave up
  std::string pointer;       ///< points at the innermost value that was open
  std::size_t opened_at;     ///< offset of the innermost bracket that is not closed; npos: none is open
};

/// `cursor` stands behind the last token that the parser reported. `text` is what it walks.
[[nodiscard]] Problem syntax_problem(const SyntaxFailure& failure, TextCursor cursor, std::string_view text,
                                     const std::string& file);

}  // namespace nocturne::tuner
