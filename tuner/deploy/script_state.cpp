#include "tuner/deploy/script_state.hpp"

#include <chrono>
#include <cstdint>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "measure/container/runtimes.hpp"
#include "space/file_contents.hpp"
#include "tuner/campaign/unix_time.hpp"
#include "tuner/deploy/own_command.hpp"
#include "tuner/executor/own_command.hpp"

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

/// The files that the command is made of, as its campaign has them.
std::vector<fs::path> sources_of(const Profile& profile) {
  const auto command = measure::command_from_json(profile.training.own_command);
  const auto words = own_words(profile);
  if (!command || !words) return {};
  std::vector<fs::path> sources = command->sources;
  // A campaign file may name none.
  if (fs::path script = tuner::script_of(*words, command->folder); sources.empty() && !script.empty())
    sources.push_back(std::move(script));
  return sources;
}

std::string digest_before(const fs::path& file, std::int64_t unix_ns) {
  std::error_code error;
  const auto written = std::chrono::file_clock::to_sys(fs::last_write_time(file, error));
  if (error || tuner::unix_ns_of(written) > unix_ns) return {};
  return space::sha256_of_file(file).value_or("");
}

}  // namespace

void note_sources(const space::Run& run, Profile& profile) {
  const auto versions = run.ready.find("versions");
  if (run.ready.is_object() && versions != run.ready.end() && versions->is_object()) {
    for (const auto& [name, version] : versions->items())
      if (version.is_string()) profile.training.versions[name] = version.get<std::string>();
  }
  for (const fs::path& file : sources_of(profile))
    profile.training.sources[file] = digest_before(file, run.started_unix_ns);
}

std::vector<std::string> changes_since(const Profile& profile) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> edited;
  for (const auto& [file, digest] : profile.training.sources) {
    const auto now = space::sha256_of_file(file);
    if (now && *now != digest) edited.push_back(file.string());
  }
  std::vector<std::string> changed = changed_versions(profile);
  if (edited.empty()) return changed;
  const char* were = edited.size() == 1 ? "was" : "were";
  if (edited.size() > kNamed) {
    edited[kNamed] = fmt::format("and {} more files", edited.size() - kNamed);
    edited.resize(kNamed + 1);
  }
  changed.insert(changed.begin(), fmt::format("{} {} edited since it was measured", fmt::join(edited, ", "), were));
  return changed;
}

}  // namespace nocturne::deploy
