#include "tuner/deploy/shell_quote.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace nocturne::deploy {

std::string comment_text(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(line, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, '?');
  return line;
}

std::string variable_part(std::string_view parameter) {
  std::string part;
  for (const char c : parameter) {
    const bool keeps = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    part += (c >= 'a' && c <= 'z') ? static_cast<char>(c - 'a' + 'A') : keeps ? c : '_';
  }
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
  return text + "exec" + placing_text(launch);
}

std::string placing_text(const measure::LaunchSettings& launch) {
  const std::string command = shell_command(measure::placing_words(launch));
  return command.empty() ? command : ' ' + command;
}

std::string placing_checks(const measure::LaunchSettings& launch, std::string_view code) {
  std::string text;
  const auto needs = [&](std::string_view tool, std::string_view package) {
    text += fmt::format("command -v {0} >/dev/null || fail '{0} is missing (package {1})'{2}\n", tool, package, code);
  };
  if (!launch.cpus.empty()) needs("taskset", "util-linux");
  if (launch.memory.is_set()) needs("numactl", "numactl");
  return text;
}

}  // namespace nocturne::deploy
