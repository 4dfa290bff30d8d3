#include "tuner/executor/slurm/allocation.hpp"

#include <algorithm>
#include <chrono>
#include <sstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "measure/artifact/compiler.hpp"
#include "measure/artifact/process.hpp"

namespace nocturne::tuner {

std::expected<SlurmCommands, std::string> SlurmCommands::find() {
  SlurmCommands commands;
  for (const auto& [name, path] : {std::pair("sbatch", &commands.sbatch), std::pair("scancel", &commands.scancel),
                                   std::pair("scontrol", &commands.scontrol), std::pair("squeue", &commands.squeue),
                                   std::pair("srun", &commands.srun)}) {
    const auto found = measure::find_program(name);
    if (!found) return std::unexpected(fmt::format("there is no Slurm here: its command {} is not on PATH", name));
    *path = *found;
  }
  return commands;
}

std::expected<std::string, std::string> ask_slurm(std::vector<std::string> words,
                                                  std::map<std::string, std::string> variables) {
  constexpr std::chrono::minutes kPatience{2};
  auto said =
      measure::command_output({.argv = std::move(words), .variables = std::move(variables), .whole_environment = true},
                              std::chrono::steady_clock::now() + kPatience);
  if (said) said->erase(std::min(said->find_last_not_of(" \n") + 1, said->size()));
  return said;
}

std::expected<std::optional<Allocation>, std::string> present_allocation(
    const std::map<std::string, std::string, std::less<>>& variables) {
  const auto variable = [&](std::string_view name) {
    const auto found = variables.find(name);
    return found != variables.end() ? found->second : std::string();
  };
  Allocation allocation{.job = variable("SLURM_JOB_ID"), .here = variable("SLURMD_NODENAME")};
  const std::string list = variable("SLURM_JOB_NODELIST");
  if (allocation.job.empty() || list.empty()) return std::nullopt;
  // A step has a number; what sbatch started has none.
  allocation.batch = !allocation.here.empty() && variable("SLURM_STEP_ID").empty();

  if (list.find_first_of("[,") == std::string::npos) {
    allocation.nodes = {list};
    if (allocation.here != list) allocation.here.clear();
    return allocation;
  }
  const auto commands = SlurmCommands::find();
  if (!commands) return std::unexpected(commands.error());
  const auto names = ask_slurm({commands->scontrol.string(), "show", "hostnames", list});
  if (!names) return std::unexpected("the nodes of this job are not known: " + names.error());
  std::istringstream lines(*names);
  for (std::string node; std::getline(lines, node);)
    if (!node.empty()) allocation.nodes.push_back(node);
  if (allocation.nodes.empty()) return std::unexpected("the nodes of this job are not known: scontrol named none");
  if (std::ranges::find(allocation.nodes, allocation.here) == allocation.nodes.end()) allocation.here.clear();
  return allocation;
}

}  // namespace nocturne::tuner
