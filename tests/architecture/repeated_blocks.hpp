#pragma once
/// Blocks of code that stand twice, found line by line. Formatted sources are required, a compiler is not.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace nocturne::architecture {

struct SourceText {
  std::string path;
  std::string text;
};

/// A block of `lines` lines of code at `file`:`line` that has stood at `first_file`:`first_line` already.
struct RepeatedBlock {
  std::string file;
  std::size_t line = 0;  ///< number of its first line, from 1
  std::size_t lines = 0;
  std::string first_file;
  std::size_t first_line = 0;
  friend bool operator==(const RepeatedBlock&, const RepeatedBlock&) = default;
};

/// Blocks of at least `least` lines whose code is the same, in the order of the sources. White space, comments, empty
/// lines and lines of the preprocessor do not count; names and literals do: a copy with another name is another block.
/// REQUIRES: least >= 1.
[[nodiscard]] std::vector<RepeatedBlock> repeated_blocks(std::span<const SourceText> sources, std::size_t least);

}  // namespace nocturne::architecture
