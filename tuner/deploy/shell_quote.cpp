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

// `export`, not `env NAME=VALUE PROGRAM`: env would take a program's path with an equals sign in it for one more
// variable.
std::string start_lines(const measure::LaunchSettings& launch) {
  std::string text;
  for (const std::string& name : launch.unset)
    if (is_variable_name(name)) text += "unset " + name + "\n";
  for (const auto& [name, value] : launch.variables())
    if (is_variable_name(name)) text += "export " + name + "=" + shell_quote(value) + "\n";
  text += "exec";
  if (const std::string cpus = launch.cpu_list(); !cpus.empty()) text += " taskset -c " + shell_quote(cpus);
  return text;
}

}  // namespace nocturne::deploy
