#pragma once

/// Walks a JSON text token by token and translates byte offsets to lines and columns. Does not judge the text: it is
/// used beside the parser, on the part that the parser has accepted.

#include <cstddef>
#include <string_view>
#include <vector>

namespace nocturne::tuner {

struct LineColumn {
  std::size_t line = 1;    ///< from 1
  std::size_t column = 1;  ///< from 1, in UTF-8 characters
};

class TextCursor {
 public:
  /// `text` must outlive the cursor.
  explicit TextCursor(std::string_view text);

  /// Moves past white space, comments and the separators `,` `:` to the next other token; returns where that begins,
  /// and moves behind it.
  std::size_t next_token();
  /// The same, but `,` and `:` are tokens too.
  std::size_t next_token_or_separator();

  [[nodiscard]] std::size_t offset() const { return offset_; }
  /// Takes the same time wherever `offset` stands, on a line of a megabyte too.
  [[nodiscard]] LineColumn position(std::size_t offset) const;
  /// The line that contains `offset`, without its end.
  [[nodiscard]] std::string_view line_text(std::size_t offset) const;

 private:
  void skip_blanks();
  void skip_token();
  [[nodiscard]] std::size_t line_index(std::size_t offset) const;
  /// Counts in the whole text.
  [[nodiscard]] std::size_t characters_before(std::size_t offset) const;

  std::string_view text_;
  std::size_t offset_ = 0;
  std::vector<std::size_t> line_starts_;
  std::vector<std::size_t> characters_before_block_;  ///< a block is kBlockBytes long
};

}  // namespace nocturne::tuner
