#pragma once

/// Words of a sentence in a row: "a", "a and b", "a, b and c". Pure.

#include <cstddef>
#include <span>
#include <string>

namespace nocturne::space {

[[nodiscard]] inline std::string word_list(std::span<const std::string> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

}  // namespace nocturne::space
