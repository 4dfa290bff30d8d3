#include <set>

#include <fmt/format.h>

#include "space/value.hpp"
#include "tuner/deploy/exporter.hpp"
#include "tuner/deploy/own_command.hpp"
#include "tuner/deploy/shell_quote.hpp"

namespace nocturne::deploy {
namespace {

/// One assignment. A name that no shell can assign to is left out: it cannot come from a checked profile.
std::string assignment(const std::string& name, const std::string& value) {
  if (!is_variable_name(name)) return "";
  return fmt::format("{}={}\n", name, shell_quote(value));
}

}  // namespace

std::string export_env(const Profile& profile) {
  std::string text;
  text += fmt::format("# Campaign {}, trial {}: {} on {}.\n", comment_text(profile.campaign), profile.trial,
                      comment_text(profile.workload.network), comment_text(profile.workload.data));
  text += proof_comments(profile, "It");
  text += fmt::format("# Written by nocturne {} at {}. Use: set -a; . FILE; set +a\n\n",
                      comment_text(profile.nocturne_version), comment_text(profile.created));

  text += "# What the process is started with.\n";
  for (const auto& [name, value] : profile.launch.variables()) text += assignment(name, value);
  if (const std::string cpus = profile.launch.cpu_list(); !cpus.empty()) {
    text += "# For taskset -c, or CPUAffinity= of systemd: a variable alone cannot bind a process.\n";
    text += assignment("NOCTURNE_CPUS", cpus);
  }
  if (const auto words = measure::numactl_words(profile.launch.memory); !words.empty())
    text += fmt::format("# Before the command, for its memory: {}\n", shell_command(words));
  if (pulls_levers(profile))
    text += "# The levers act through a module in front of Python, which 'nocturne export --format sh' takes along.\n";
  for (const std::string& name : profile.launch.unset)
    text += fmt::format("# Not set when measured: {}\n", comment_text(name));

  text += "\n# The configuration, for scripts of your own.\n";
  std::set<std::string> taken;  // "a.b" and "a-b" would share a name: the first keeps it
  for (const auto& [parameter, value] : profile.configuration.values()) {
    const std::string name = "NOCTURNE_PARAMETER_" + variable_part(parameter);
    if (taken.insert(name).second)
      text += assignment(name, space::to_text(value));
    else
      text += fmt::format("# {} is left out: {} is taken.\n", comment_text(parameter), name);
  }
  if (has_own_command(profile)) {
    const auto words = own_words(profile);
    return text + "# The command, as a shell has it.\n" +
           assignment("NOCTURNE_COMMAND", words ? shell_command(*words) : "");
  }
  text += assignment("NOCTURNE_PROGRAM", profile.training.program.string());
  text += assignment("NOCTURNE_DATA_FOLDER", profile.training.data_folder.string());
  return text;
}

}  // namespace nocturne::deploy
