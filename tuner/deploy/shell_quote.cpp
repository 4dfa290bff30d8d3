#include "tuner/deploy/shell_quote.hpp"

#include <algorithm>

namespace nocturne::deploy {
namespace {

// Not std::isalpha: what a locale takes for a letter, a shell may not.
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

std::string comment_text(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(line, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, '?');
  return line;
}

bool is_variable_name(std::string_view name) {
  return !name.empty() && !is_digit(name.front()) &&
         std::ranges::all_of(name, [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}

std::string variable_part(std::string_view parameter) {
  std::string part;
  for (const char c : parameter)
    part += (c >= 'a' && c <= 'z') ? static_cast<char>(c - 'a' + 'A') : (is_letter(c) || is_digit(c)) ? c : '_';
  return part;
}

}  // namespace nocturne::deploy
