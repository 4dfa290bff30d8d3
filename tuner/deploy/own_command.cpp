#include "tuner/deploy/own_command.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "measure/run/command_template.hpp"
#include "space/digest.hpp"
#include "space/file_contents.hpp"
#include "space/value.hpp"
#include "tuner/deploy/shell_quote.hpp"

namespace nocturne::deploy {
namespace {

measure::CommandRun run_of(const Profile& profile) {
  return {.steps = profile.training.steps, .seed = profile.training.seed};
}

namespace fs = std::filesystem;

/// A line that none of the module's files has.
constexpr const char* kEndOfFile = "NOCTURNE_END_OF_FILE";

/// Unpacks the module into the user's cache, once for each of its versions, and puts it in front of Python.
std::string module_lines(const Profile& profile) {
  if (profile.module.empty()) return {};
  std::string all;
  for (const auto& [path, source] : profile.module) all += path + '\0' + source + '\0';
  std::string text = fmt::format(
      "\n# The module that changes the training from outside; its files stand below as they are.\n"
      "module=${{XDG_CACHE_HOME:-$HOME/.cache}}/nocturne/inject-{}\n"
      "if [ ! -d \"$module\" ]; then\n"
      "mkdir -p \"${{module%/*}}\"\nunpacked=$(mktemp -d \"$module.XXXXXX\")\n",
      space::short_digest(all).substr(0, 16));
  for (const auto& [path, source] : profile.module) {
    if (const fs::path folder = fs::path(path).parent_path(); !folder.empty())
      text += fmt::format("mkdir -p \"$unpacked\"/{}\n", shell_quote(folder.string()));
    text += fmt::format("cat > \"$unpacked\"/{} <<'{}'\n{}{}{}\n", shell_quote(path), kEndOfFile, source,
                        source.ends_with('\n') ? "" : "\n", kEndOfFile);
  }
  return text +
         "mv -T \"$unpacked\" \"$module\" 2>/dev/null || rm -rf \"$unpacked\"\nfi\n"
         "export PYTHONPATH=\"$module${PYTHONPATH:+:$PYTHONPATH}\"\n\n";
}

std::string script_heading(const Profile& profile) {
  std::string text = "#!/bin/sh\n";
  text += fmt::format("# The command of campaign {} as measured in its trial {}.\n", comment_text(profile.campaign),
                      profile.trial);
  text += proof_comments(profile, "This configuration");
  text += "#\n# Configuration:\n";
  for (const auto& [name, value] : profile.configuration.values())
    text += fmt::format("#   {} = {}\n", comment_text(name), comment_text(space::to_text(value)));
  text += fmt::format("# Written by nocturne {} ({}) at {}.\n", comment_text(profile.nocturne_version),
                      comment_text(profile.nocturne_commit), comment_text(profile.created));
  text += "#\n# Use: sh FILE [ARGUMENT...]        arguments are added to the command's own\n";
  return text;
}

}  // namespace

bool has_own_command(const Profile& profile) {
  return profile.training.own_command.is_object();
}

std::expected<std::vector<std::string>, std::string> own_words(const Profile& profile) {
  const auto command = measure::command_from_json(profile.training.own_command);
  if (!command) return std::unexpected(command.error());
  return measure::fill_words(*command, profile.configuration, run_of(profile));
}

std::vector<std::string> missing_options(const Profile& profile, const std::vector<std::string>& command) {
  std::vector<std::string> missing;
  const auto own = measure::command_from_json(profile.training.own_command);
  if (!own) return missing;
  const auto program = own->groups.front();
  for (std::size_t i = 1; i < own->groups.size(); ++i) {
    const bool varies =
        std::ranges::any_of(own->groups[i], [](const std::string& word) { return !measure::places_in(word).empty(); });
    if (!varies) continue;
    // An option and its value may stand in two words of which only the second has a place.
    std::vector<std::vector<std::string>> groups = {program, own->groups[i]};
    const bool apart = own->groups[i].size() == 1 && own->groups[i][0].starts_with('{') && i > 1 &&
                       own->groups[i - 1].size() == 1 && own->groups[i - 1][0].starts_with('-');
    if (apart) groups.insert(groups.begin() + 1, own->groups[i - 1]);
    const measure::CommandTemplate part{.groups = groups};
    auto words = measure::fill_words(part, profile.configuration, run_of(profile));
    const auto head = measure::fill_words({.groups = {program}}, profile.configuration, run_of(profile));
    if (!words || !head) continue;
    words->erase(words->begin(), words->begin() + static_cast<std::ptrdiff_t>(head->size()));
    if (!words->empty() && std::ranges::search(command, *words).empty()) missing.push_back(shell_command(*words));
  }
  return missing;
}

bool pulls_levers(const Profile& profile) {
  const auto command = measure::command_from_json(profile.training.own_command);
  if (!command) return false;
  return std::ranges::any_of(command->levers, [&](const auto& each) {
    const auto set = profile.launch.set.find(each.second.variable);
    return set != profile.launch.set.end() && set->second != measure::kAsScript;
  });
}

std::map<std::string, std::string> module_files(const fs::path& kernels) {
  std::map<std::string, std::string> files;
  std::error_code error;
  const fs::path module = kernels / "inject";
  for (fs::recursive_directory_iterator entry(module, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() != ".py") continue;
    files[entry->path().lexically_relative(module).string()] = space::read_file(entry->path()).value_or("");
  }
  files["nocturne_steps.py"] = space::read_file(kernels / "python/nocturne_steps.py").value_or("");
  const bool whole = !error && std::ranges::none_of(files, [](const auto& each) { return each.first.empty(); });
  return whole ? files : std::map<std::string, std::string>();
}

std::string own_command_script(const Profile& profile) {
  const auto words = own_words(profile);
  std::string text = script_heading(profile);
  text += "set -eu\n\n";
  text += "fail() { printf '%s: %s\\n' \"${0##*/}\" \"$1\" >&2; exit 5; }\n";
  if (!words) return text + "fail " + shell_quote(words.error()) + "\n";  // a checked profile has none
  if (const std::string container = container_of(profile); !container.empty()) {
    text += "fail " +
            shell_quote(fmt::format("it was measured in the container {}, which this script does not start; "
                                    "nocturne apply does",
                                    container)) +
            "\n";
  }
  if (!profile.launch.cpus.empty())
    text += "command -v taskset >/dev/null || fail 'taskset is missing (package util-linux)'\n";
  for (const auto& library : profile.launch.preload) {
    const std::string path = library.string();
    text +=
        fmt::format("[ -r {} ] || fail {}\n", shell_quote(path), shell_quote("the library " + path + " is missing"));
  }
  const std::string folder = profile.training.own_command.value("folder", ".");
  text +=
      fmt::format("cd -- {} || fail {}\n", shell_quote(folder), shell_quote("the folder " + folder + " is missing"));
  text += module_lines(profile);
  for (const std::string& name : profile.launch.unset)
    if (is_variable_name(name)) text += "unset " + name + "\n";
  for (const auto& [name, value] : profile.launch.variables())
    if (is_variable_name(name)) text += fmt::format("export {}={}\n", name, shell_quote(value));
  text += "exec";
  if (const std::string cpus = profile.launch.cpu_list(); !cpus.empty()) text += " taskset -c " + shell_quote(cpus);
  return text + " " + shell_command(*words) + " \"$@\"\n";
}

}  // namespace nocturne::deploy
