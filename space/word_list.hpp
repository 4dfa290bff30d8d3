#pragma once

/// Words of a sentence in a row: "a", "a and b", "a, b and c"; and counted: "1 trial", "3 trials". Pure.

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace nocturne::space {

[[nodiscard]] inline std::string word_list(std::span<const std::string> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

[[nodiscard]] inline std::string counted(std::integral auto count, std::string_view one, std::string_view many) {
  return std::to_string(count).append(" ").append(count == 1 ? one : many);
}

}  // namespace nocturne::space
