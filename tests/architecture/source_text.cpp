#include "tests/architecture/source_text.hpp"

#include <algorithm>
#include <cctype>
#include <string>

namespace nocturne::architecture {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::size_t end_of_opaque(std::string_view text, std::size_t at) {
  const auto past = [text](std::string_view closing, std::size_t from) {
    const std::size_t found = text.find(closing, from);
    return found == std::string_view::npos ? text.size() : found + closing.size();
  };
  const std::string_view rest = text.substr(at);
  if (rest.starts_with("//")) return std::min(text.find('\n', at), text.size());
  if (rest.starts_with("/*")) return past("*/", at + 2);
  const bool begins_word = at == 0 || !is_word(text[at - 1]);
  if (rest.starts_with("R\"") && begins_word) {
    const std::size_t bracket = std::min(rest.find('('), rest.size() - 1);
    return past(")" + std::string(rest.substr(2, bracket - 2)) + "\"", at + bracket);
  }
  const char quote = rest.front();
  if (quote != '"' && (quote != '\'' || !begins_word)) return at;  // 1'000 is a number
  std::size_t end = at + 1;
  while (end < text.size() && text[end] != quote) end += text[end] == '\\' ? 2U : 1U;
  return std::min(end + 1, text.size());
}

}  // namespace nocturne::architecture
