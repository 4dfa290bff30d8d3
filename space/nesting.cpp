#include "space/nesting.hpp"

namespace nocturne::space {

bool is_nested_too_deep(std::string_view json_text) {
  std::size_t depth = 0;
  bool in_string = false, escaped = false;
  for (const char letter : json_text) {
    if (in_string) {
      in_string = escaped || letter != '"';
      escaped = !escaped && letter == '\\';
    } else if (letter == '"') {
      in_string = true;
    } else if (letter == '[' || letter == '{') {
      if (++depth > kDeepestNesting) return true;
    } else if ((letter == ']' || letter == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

}  // namespace nocturne::space
