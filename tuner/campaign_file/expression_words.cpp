#include "tuner/campaign_file/expression_words.hpp"

#include <cctype>

namespace nocturne::tuner {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}
bool begins_number(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

}  // namespace

std::set<std::string> expression_words(std::string_view expression) {
  std::set<std::string> words;
  for (std::size_t i = 0; i < expression.size();) {
    const char c = expression[i];
    if (c == '\'' || c == '"') {
      for (++i; i < expression.size() && expression[i] != c; ++i) {
        if (expression[i] == '\\') ++i;
      }
      ++i;
    } else if (is_word(c)) {
      const std::size_t start = i;
      while (i < expression.size() && is_word(expression[i])) ++i;
      if (!begins_number(c) && c != '.') words.emplace(expression.substr(start, i - start));
    } else {
      ++i;
    }
  }
  return words;
}

}  // namespace nocturne::tuner
