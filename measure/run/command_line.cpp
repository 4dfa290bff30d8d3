#include "measure/run/command_line.hpp"

#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "measure/run/run_files.hpp"
#include "measure/run/shell_words.hpp"

namespace nocturne::measure {

std::string repeat_command(const RunPlan& plan) {
  std::vector<std::string> words;
  if (!plan.environment.empty() || !plan.unset.empty()) words.emplace_back("env");
  for (const auto& name : plan.unset) words.insert(words.end(), {"-u", name});
  for (const auto& [name, value] : plan.environment) words.push_back(name + '=' + value);
  if (!plan.cpus.empty()) words.insert(words.end(), {"taskset", "-c", fmt::format("{}", fmt::join(plan.cpus, ","))});
  words.insert(words.end(), plan.argv.begin(), plan.argv.end());
  const auto request = plan.folder / (plan.request.turns ? kAloneRequestFile : kRequestFile);
  words.insert(words.end(), {"--request", request.string(), "--events", "/dev/stdout"});
  return "cd " + shell_quote(plan.folder.string()) + " && " + shell_command(words);
}

}  // namespace nocturne::measure
