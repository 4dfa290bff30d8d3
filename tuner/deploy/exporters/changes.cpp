#include <fmt/format.h>

#include "measure/run/command_template.hpp"
#include "space/value.hpp"
#include "tuner/deploy/exporter.hpp"
#include "tuner/deploy/own_command.hpp"
#include "tuner/deploy/shell_quote.hpp"

namespace nocturne::deploy {
namespace {

std::string changes_heading(const Profile& profile) {
  return fmt::format("# What trial {} of campaign {} changes, for your own files.\n", profile.trial,
                     comment_text(profile.campaign)) +
         proof_comments(profile, "All together it");
}

/// What the model of the campaign says of a setting; empty: nothing.
std::string effect_comment(const Profile& profile, const std::string& parameter) {
  const auto effect = profile.effects.find(parameter);
  return effect == profile.effects.end() ? std::string() : "#   " + comment_text(effect->second) + "\n";
}

std::string script_lines(const Profile& profile, const measure::CommandTemplate& command) {
  std::string text;
  const auto threads = profile.launch.set.find(measure::kThreadsVariable);
  if (threads != profile.launch.set.end() && profile.configuration.integer_of("threads")) {
    text += fmt::format("\n# threads = {}, in place of what it, or what starts it, sets; may change: rounding\n",
                        *profile.configuration.integer_of("threads"));
    text += effect_comment(profile, "threads");
    text += fmt::format("torch.set_num_threads({})\n", *profile.configuration.integer_of("threads"));
  }
  for (const auto& [name, lever] : command.levers) {
    if (!lever.is_pulled(profile.configuration, name)) continue;
    const std::string chosen = space::to_text(*profile.configuration.find(name));
    text += fmt::format("\n# {} = {}; may change: {}\n", comment_text(name), comment_text(chosen),
                        comment_text(lever.changes));
    text += effect_comment(profile, name);
    const auto lines = lever.lines.find(chosen);
    text += lines != lever.lines.end() ? lines->second + "\n" : "# (no line of a script does this)\n";
  }
  return text;
}

std::string shell_lines(const Profile& profile) {
  std::string text;
  for (const auto& [name, value] : profile.launch.variables()) {
    if (!is_variable_name(name) || measure::is_lever_variable(name)) continue;
    text += fmt::format("export {}={}\n", name, shell_quote(value));
  }
  if (const std::string words = placing_text(profile.launch); !words.empty())
    text += fmt::format("# before the command:{}\n", words);
  return text;
}

}  // namespace

std::string export_changes(const Profile& profile) {
  std::string text = changes_heading(profile);
  const auto command = has_own_command(profile) ? measure::command_from_json(profile.training.own_command)
                                                : std::expected<measure::CommandTemplate, std::string>();
  const std::string script = command ? script_lines(profile, *command) : std::string();
  text += script.empty() ? "\n# In the script: nothing.\n" : "\n# In the script:\n" + script;
  const std::string shell = shell_lines(profile);
  text += shell.empty() ? "\n# Around it: nothing.\n" : "\n# Around it, in the shell that starts it:\n" + shell;
  if (const auto words = has_own_command(profile) ? own_words(profile) : std::unexpected(std::string()); words)
    text += "\n# The command:\n" + shell_command(*words) + "\n";
  return text;
}

}  // namespace nocturne::deploy
