// What is done with LaunchSettings once they are composed: environments and shell words.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "measure/run/launch.hpp"

namespace nocturne::measure {
namespace {

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+-@%^";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  std::string result = "'";
  for (const char c : word) {
    if (c == '\'') {
      result += "'\\''";
    } else {
      result += c;
    }
  }
  return result + "'";
}

}  // namespace

std::map<std::string, std::string> LaunchSettings::variables() const {
  std::map<std::string, std::string> result = set;
  if (!preload.empty()) {
    std::vector<std::string> paths;
    for (const auto& library : preload) paths.push_back(library.string());
    result["LD_PRELOAD"] = fmt::format("{}", fmt::join(paths, ":"));
  }
  return result;
}

void LaunchSettings::apply_to(std::map<std::string, std::string>& environment) const {
  for (const std::string& name : unset) environment.erase(name);
  for (const auto& [name, value] : variables()) environment[name] = value;
}

std::string LaunchSettings::cpu_list() const {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t end = i;
    while (end + 1 < cpus.size() && cpus[end + 1] == cpus[end] + 1) ++end;
    parts.push_back(end == i ? std::to_string(cpus[i]) : fmt::format("{}-{}", cpus[i], cpus[end]));
    i = end + 1;
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

std::string LaunchSettings::shell_prefix() const {
  std::vector<std::string> words;
  // taskset goes first: what is preloaded and tuned shall concern the command, not taskset.
  if (!cpus.empty()) words.insert(words.end(), {"taskset", "-c", cpu_list()});
  if (!unset.empty() || !set.empty() || !preload.empty()) {
    words.emplace_back("env");
    for (const std::string& name : unset) words.insert(words.end(), {"-u", name});
    for (const auto& [name, value] : variables()) words.push_back(shell_word(name + "=" + value));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace nocturne::measure
