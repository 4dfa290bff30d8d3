#include "measure/run/command_line.hpp"

#include <fmt/ranges.h>

#include "measure/run/run_files.hpp"

namespace nocturne::measure {

std::string shell_quoted(std::string_view word) {
  constexpr std::string_view kSafe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%";
  if (!word.empty() && word.find_first_not_of(kSafe) == std::string_view::npos) return std::string(word);
  std::string quoted = "'";
  for (const char letter : word) {
    if (letter == '\'') {
      quoted += "'\\''";
    } else {
      quoted += letter;
    }
  }
  return quoted + "'";
}

std::string repeat_command(const RunPlan& plan) {
  std::string line = "cd " + shell_quoted(plan.folder.string()) + " &&";
  if (!plan.environment.empty() || !plan.unset.empty()) line += " env";
  for (const auto& name : plan.unset) line += " -u " + shell_quoted(name);
  for (const auto& [name, value] : plan.environment) line += ' ' + name + '=' + shell_quoted(value);
  if (!plan.cpus.empty()) line += fmt::format(" taskset -c {}", fmt::join(plan.cpus, ","));
  for (const auto& word : plan.argv) line += ' ' + shell_quoted(word);
  const auto request = plan.folder / (plan.request.turns ? kAloneRequestFile : kRequestFile);
  return line + " --request " + shell_quoted(request.string()) + " --events /dev/stdout";
}

}  // namespace nocturne::measure
