#include "tuner/deploy/own_command.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "measure/run/command_template.hpp"
#include "space/digest.hpp"
#include "space/file_contents.hpp"
#include "space/value.hpp"
#include "tuner/deploy/shell_quote.hpp"
#include "tuner/deploy/watch.hpp"

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
  const auto pulls = [](const Profile& each) { return pulls_levers(each); };
  const bool always = pulls(profile) || std::ranges::any_of(profile.of_default, pulls);
  std::string text = fmt::format(
      "\n# The module that sees and changes the training from outside; its files stand below as they are.\n{}"
      "module=${{XDG_CACHE_HOME:-$HOME/.cache}}/nocturne/inject-{}\n"
      "if [ ! -d \"$module\" ]; then\n"
      "mkdir -p \"${{module%/*}}\"\nunpacked=$(mktemp -d \"$module.XXXXXX\")\n",
      always ? "" : "if [ -n \"${WATCH:-}${FALL_BACK:-}\" ]; then\n", space::short_digest(all).substr(0, 16));
  for (const auto& [path, source] : profile.module) {
    if (const fs::path folder = fs::path(path).parent_path(); !folder.empty())
      text += fmt::format("mkdir -p \"$unpacked\"/{}\n", shell_quote(folder.string()));
    text += fmt::format("cat > \"$unpacked\"/{} <<'{}'\n{}{}{}\n", shell_quote(path), kEndOfFile, source,
                        source.ends_with('\n') ? "" : "\n", kEndOfFile);
  }
  return text +
         "mv -T \"$unpacked\" \"$module\" 2>/dev/null || rm -rf \"$unpacked\"\nfi\n"
         "export PYTHONPATH=\"$module${PYTHONPATH:+:$PYTHONPATH}\"\n" +
         (always ? "\n" : "fi\n\n");
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
  text +=
      fmt::format("#\n# Use: sh FILE {}        arguments are added to the command's own\n", argument_words(profile));
  if (!is_watched(profile)) return text;
  text +=
      "#   WATCH=1      its first steps are compared with those measured; what was seen is kept for nocturne list\n"
      "#                deployments, and slower ones are a warning\n";
  if (can_fall_back(profile))
    text +=
        "#   FALL_BACK=1  likewise; and the default is started instead where it is slower than that, too, and nothing\n"
        "#                else on the machine explains it\n";
  return text;
}

/// What becomes the command in this configuration.
std::string launch_lines(const Profile& profile, const std::vector<std::string>& words) {
  return start_lines(profile.launch) + " " + shell_command(words) + " \"$@\"\n";
}

/// What the module needs in order to watch (nocturne_inject/watch.py).
nlohmann::json watch_order(const Profile& profile) {
  const space::FingerprintField* cpu = profile.measured_on.machine.find("cpu.model");
  nlohmann::json order = {{"profile", profile.campaign},
                          {"trial", profile.trial},
                          {"cpu", cpu == nullptr ? "" : cpu->value},
                          {"expected_s", profile.step->seconds},
                          {"limit_s", profile.step->limit()},
                          {"default_limit_s", nullptr},
                          {"window_s", std::chrono::duration<double>(window_for(profile)).count()}};
  if (can_fall_back(profile)) order["default_limit_s"] = profile.of_default.front().step->limit();
  return order;
}

/// The command as a child that is watched; what follows is the command unwatched.
std::string watch_lines(const Profile& profile) {
  if (!is_watched(profile)) return {};
  std::string text = fmt::format(
      "if [ -n \"${{WATCH:-}}${{FALL_BACK:-}}\" ]; then\n"
      "watch=$(mktemp -d)\n"
      "exec 9<&0\n"  // of a child in the background it would be /dev/null
      "status=0\n"
      "(\n"
      "export NOCTURNE_WATCH={}\n"
      "export NOCTURNE_WATCH_LOG=\"${{NOCTURNE_DATA:-${{XDG_DATA_HOME:-$HOME/.local/share}}/nocturne}}/deployments\"\n"
      "export NOCTURNE_WATCH_JOB=$$ NOCTURNE_STEPS_PID_FILE=\"$watch/pid\" NOCTURNE_STEPS_PER_SAMPLE={}\n",
      shell_quote(watch_order(profile).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)),
      profile.training.steps_per_sample);
  if (can_fall_back(profile))
    text += "if [ -n \"${FALL_BACK:-}\" ]; then export NOCTURNE_WATCH_FALL_BACK=\"$watch/fall-back\"; fi\n";
  text +=
      "measured \"$@\"\n"
      ") <&9 9<&- &\n"
      "job=$!\n"
      "exec 9<&-\n"
      "trap 'kill -TERM \"$job\" 2>/dev/null || :' HUP INT TERM\n"
      "wait \"$job\" || status=$?\n"
      "while kill -0 \"$job\" 2>/dev/null; do status=0; wait \"$job\" || status=$?; done\n"
      "trap - HUP INT TERM\n";
  if (can_fall_back(profile)) {
    const auto words = own_words(profile.of_default.front());
    text += "if [ -e \"$watch/fall-back\" ]; then\nrm -rf -- \"$watch\"\n";
    text += words ? launch_lines(profile.of_default.front(), *words) : "fail " + shell_quote(words.error()) + "\n";
    text += "fi\n";
  }
  return text + "rm -rf -- \"$watch\"\nexit \"$status\"\nfi\n";
}

/// Says which files are no longer those that were measured.
std::string source_lines(const Profile& profile) {
  if (profile.training.sources.empty()) return {};
  std::string text =
      "measured_source() {\n"
      "if [ -r \"$2\" ] && [ \"$(sha256sum < \"$2\")\" != \"$1  -\" ]; then\n"
      "printf '%s: warning: %s was edited since it was measured; nocturne verify PROFILE measures it again\\n' "
      "\"${0##*/}\" \"$2\" >&2\nfi\n}\n";
  for (const auto& [file, digest] : profile.training.sources)
    text += fmt::format("measured_source {} {}\n", shell_quote(digest), shell_quote(file.string()));
  return text;
}

}  // namespace

bool has_own_command(const Profile& profile) {
  return profile.training.own_command.is_object();
}

std::string argument_words(const Profile& profile) {
  return has_own_command(profile) ? "[ARGUMENT...]" : "[--epochs N]";
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
  return has_own_command(profile) && std::ranges::any_of(profile.launch.set, [](const auto& each) {
           return measure::is_lever_variable(each.first) && each.second != measure::kAsScript;
         });
}

bool is_watched(const Profile& profile) {
  return profile.step && !profile.module.empty();
}

bool needs_module(const Profile& profile) {
  const auto pulls = [](const Profile& each) { return has_own_command(each) && pulls_levers(each); };
  return pulls(profile) || std::ranges::any_of(profile.of_default, pulls) || (has_own_command(profile) && profile.step);
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
  text += placing_checks(profile.launch);
  for (const auto& library : profile.launch.preload) {
    const std::string path = library.string();
    text +=
        fmt::format("[ -r {} ] || fail {}\n", shell_quote(path), shell_quote("the library " + path + " is missing"));
  }
  const std::string folder = profile.training.own_command.value("folder", ".");
  text +=
      fmt::format("cd -- {} || fail {}\n", shell_quote(folder), shell_quote("the folder " + folder + " is missing"));
  text += source_lines(profile) + module_lines(profile);
  return text + "measured() {\n" + launch_lines(profile, *words) + "}\n" + watch_lines(profile) + "measured \"$@\"\n";
}

}  // namespace nocturne::deploy
