#include "space/json_field.hpp"

namespace nocturne::space {

bool is_nested_too_deep(std::string_view json_text) {
  return bracket_within(json_text, kDeepestNesting).has_value();
}

std::optional<std::size_t> bracket_within(std::string_view json_text, std::size_t others) {
  std::size_t depth = 0;
  bool in_string = false, escaped = false;
  for (std::size_t i = 0; i < json_text.size(); ++i) {
    const char letter = json_text[i];
    if (in_string) {
      in_string = escaped || letter != '"';
      escaped = !escaped && letter == '\\';
    } else if (letter == '"') {
      in_string = true;
    } else if (letter == '[' || letter == '{') {
      if (++depth > others) return i;
    } else if ((letter == ']' || letter == '}') && depth > 0) {
      --depth;
    }
  }
  return std::nullopt;
}

}  // namespace nocturne::space
