#include "tuner/deploy/script_state.hpp"

#include <chrono>
#include <cstdint>
#include <sstream>

#include <fmt/format.h>

#include "measure/container/runtimes.hpp"
#include "space/file_contents.hpp"
#include "tuner/campaign/unix_time.hpp"
#include "tuner/deploy/own_command.hpp"

namespace nocturne::deploy {
namespace {

namespace fs = std::filesystem;

/// Prints "NAME VERSION" for each argument that is known here.
constexpr const char* kVersions =
    "import platform, sys\n"
    "from importlib import metadata\n"
    "for name in sys.argv[1:]:\n"
    "    try:\n"
    "        print(name, platform.python_version() if name == 'python' else metadata.version(name))\n"
    "    except Exception:\n"
    "        pass\n";

/// What a program begins with.
constexpr std::string_view kElf = "\177ELF";

/// The first word that names a file which is no program of the machine's.
fs::path script_of(const Profile& profile) {
  const auto words = own_words(profile);
  const fs::path folder = profile.training.own_command.value("folder", "");
  for (const std::string& word : words ? *words : std::vector<std::string>()) {
    const fs::path file = (folder / word).lexically_normal();
    std::error_code error;
    if (word.empty() || !fs::is_regular_file(file, error)) continue;
    const auto beginning = space::read_file(file, kElf.size());
    if (beginning && !beginning->starts_with(kElf)) return file;
  }
  return {};
}

/// 2.1.0+cpu is the 2.1.0 of another package.
std::string_view public_part(std::string_view version) {
  return version.substr(0, version.find('+'));
}

std::vector<std::string> changed_versions(const Profile& profile) {
  const auto words = own_words(profile);
  const bool is_python = words && fs::path(words->front()).filename().string().starts_with("python");
  if (profile.training.versions.empty() || !is_python || profile.container) return {};
  std::vector<std::string> argv = {words->front(), "-c", kVersions};
  for (const auto& [name, version] : profile.training.versions) argv.push_back(name);
  std::istringstream said(measure::ask_tool(argv, std::chrono::seconds(10)).value_or(""));
  std::vector<std::string> changed;
  for (std::string name, now; said >> name >> now;) {
    const auto then = profile.training.versions.find(name);
    if (then == profile.training.versions.end() || public_part(then->second) == public_part(now)) continue;
    changed.push_back(fmt::format("{} is {} here and was {} when it was measured", name, now, then->second));
  }
  return changed;
}

}  // namespace

void note_script(const space::Run& run, Profile& profile) {
  const auto versions = run.ready.find("versions");
  if (run.ready.is_object() && versions != run.ready.end() && versions->is_object()) {
    for (const auto& [name, version] : versions->items())
      if (version.is_string()) profile.training.versions[name] = version.get<std::string>();
  }
  profile.training.script = script_of(profile);
  if (profile.training.script.empty()) return;
  std::error_code error;
  const auto written = std::chrono::file_clock::to_sys(fs::last_write_time(profile.training.script, error));
  if (error || tuner::unix_ns_of(written) > run.started_unix_ns) return;
  profile.training.script_digest = space::sha256_of_file(profile.training.script).value_or("");
}

std::vector<std::string> changes_since(const Profile& profile) {
  std::vector<std::string> changed = changed_versions(profile);
  const fs::path& script = profile.training.script;
  if (script.empty()) return changed;
  const auto now = space::sha256_of_file(script);
  if (now && *now != profile.training.script_digest)
    changed.insert(changed.begin(), fmt::format("{} was edited since it was measured", script.string()));
  return changed;
}

}  // namespace nocturne::deploy
