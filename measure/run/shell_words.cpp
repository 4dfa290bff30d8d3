#include "measure/run/shell_words.hpp"

#include <algorithm>

namespace nocturne::measure {
namespace {

// Not std::isalnum: what a locale takes for a letter, a shell may not.
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_of_a_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

bool is_harmless_in_shells(char c) {
  return is_of_a_name(c) || std::string_view("-./:,+@%").find(c) != std::string_view::npos;
}

bool is_plain_argument(std::string_view word) {
  return !word.empty() && word.front() != '=' &&
         std::ranges::all_of(word, [](char c) { return c == '=' || is_harmless_in_shells(c); });
}

}  // namespace

std::string shell_quote(std::string_view text) {
  text = text.substr(0, text.find('\0'));
  if (!text.empty() && std::ranges::all_of(text, is_harmless_in_shells)) return std::string(text);
  std::string quoted = "'";
  for (const char c : text)
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  return quoted + "'";
}

std::string shell_command(std::span<const std::string> words) {
  std::string command;
  for (const std::string& word : words)
    if (command.empty())
      command = shell_quote(word);
    else
      command += ' ' + (is_plain_argument(word) ? word : shell_quote(word));
  return command;
}

bool is_variable_name(std::string_view name) {
  return !name.empty() && !is_digit(name.front()) && std::ranges::all_of(name, is_of_a_name);
}

}  // namespace nocturne::measure
