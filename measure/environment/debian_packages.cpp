#include "measure/environment/debian_packages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <set>

#include "measure/container/runtimes.hpp"
#include "measure/environment/pip_error.hpp"
#include "space/folder_entries.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kDebianPatience{60};
// The sandbox user of apt cannot write into a folder of ours; simulating needs no lock.
constexpr std::array kAptOptions = {"-o",       "APT::Sandbox::User=root", "-o", "Debug::NoLocking=1",
                                    "-o",       "Acquire::Retries=3",      "-o", "APT::Install-Recommends=false",
                                    "--quiet=2"};

std::vector<std::string> apt(std::initializer_list<std::string> words) {
  std::vector<std::string> result = {"apt-get"};
  result.insert(result.end(), kAptOptions.begin(), kAptOptions.end());
  result.insert(result.end(), words.begin(), words.end());
  return result;
}

bool is_version(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0 &&
         std::ranges::all_of(text, [](unsigned char c) {
           return std::isalnum(c) != 0 || std::string_view(".+-~:").contains(static_cast<char>(c));
         });
}

/// What is to be unpacked: the lock's, else those named and what they need beside what is installed.
std::expected<std::vector<DebianPackage>, EnvironmentFailure> resolve_packages(InstallSession& session) {
  std::vector<DebianPackage> wanted;
  if (!session.options().lock.empty()) {
    for (const std::string& line : session.options().lock) {
      auto package = package_of_lock(line);
      if (!package) return std::unexpected(session.error(package.error()));
      wanted.push_back(std::move(*package));
    }
    return wanted;
  }
  const std::vector<std::string>& named = session.recipe().debian;
  std::vector<std::string> arguments = apt({"--simulate", "install", "--"});
  arguments.insert(arguments.end(), named.begin(), named.end());
  const auto simulated = session.start(std::move(arguments));
  if (!simulated.result.ok())
    return std::unexpected(session.failure(simulated, "apt-get", explain_apt(simulated.output)));
  wanted = packages_to_install(simulated.output);
  for (const std::string& name : named)
    if (std::ranges::find(wanted, name, &DebianPackage::name) == wanted.end()) wanted.push_back({name, ""});
  return wanted;
}

struct DebianFile {
  fs::path path;
  DebianPackage package;
};

/// Those of the downloads that are wanted. An older one of an earlier try is passed over.
std::vector<DebianFile> files_of(const fs::path& folder, const std::vector<DebianPackage>& wanted) {
  std::vector<DebianFile> files;
  for (const fs::directory_entry& entry : space::entries_of(folder)) {
    if (entry.path().extension() != ".deb") continue;
    const auto said =
        ask_tool({"dpkg-deb", "--show", "--showformat=${Package} ${Version}", entry.path().string()}, kDebianPatience);
    const std::size_t space = said ? said->find(' ') : std::string::npos;
    if (space == std::string::npos) continue;
    const DebianPackage found{said->substr(0, space), said->substr(space + 1)};
    const auto same = [&](const DebianPackage& each) {
      return each.name == found.name && (each.version.empty() || each.version == found.version);
    };
    if (std::ranges::any_of(wanted, same)) files.push_back({entry.path(), found});
  }
  return files;
}

}  // namespace

std::vector<DebianPackage> packages_to_install(std::string_view simulated) {
  std::vector<DebianPackage> packages;
  while (!simulated.empty()) {
    std::string_view line = simulated.substr(0, simulated.find('\n'));
    simulated.remove_prefix(std::min(line.size() + 1, simulated.size()));
    if (!line.starts_with("Inst ")) continue;
    line.remove_prefix(5);
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || !line.substr(space + 1).starts_with('(')) continue;
    const std::string_view rest = line.substr(space + 2);
    const DebianPackage package{std::string(line.substr(0, line.find_first_of(": "))),
                                std::string(rest.substr(0, rest.find_first_of(" )")))};
    if (is_debian_name(package.name) && is_version(package.version)) packages.push_back(package);
  }
  return packages;
}

std::string lock_line(const DebianPackage& package) {
  return package.name + "==" + package.version;
}

std::expected<DebianPackage, std::string> package_of_lock(std::string_view line) {
  const std::size_t equals = line.find("==");
  if (equals != std::string_view::npos && is_debian_name(line.substr(0, equals)) && is_version(line.substr(equals + 2)))
    return DebianPackage{std::string(line.substr(0, equals)), std::string(line.substr(equals + 2))};
  return std::unexpected(fmt::format("the lock's '{}' is no package of Debian with its version", line));
}

bool is_debian_name(std::string_view text) {
  const auto is_alnum = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  return text.size() > 1 && text.size() <= 100 && is_alnum(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return is_alnum(c) || c == '+' || c == '-' || c == '.'; });
}

bool mirror_unreachable(std::string_view output) {
  return output.contains("Temporary failure resolving") || output.contains("Could not resolve") ||
         output.contains("Could not connect") || output.contains("Connection failed") ||
         output.contains("Network is unreachable");
}

std::string explain_apt(std::string_view output) {
  if (output.contains("is not installed"))
    return "its packages are those of Debian and of what descends from it: apt-get and dpkg-deb are not here";
  if (output.contains("Unable to locate package") || output.contains("has no installation candidate") ||
      output.contains("was not found")) {
    return fmt::format("the distribution has no such package: {}; `apt-get update` brings the lists up to date",
                       last_line(output));
  }
  if (mirror_unreachable(output)) {
    return "the distribution's mirror cannot be reached: look at the network and apt's sources, then install again; "
           "what was downloaded is kept";
  }
  if (output.contains("404  Not Found") || output.contains("404 Not Found"))
    return "the mirror has another version by now: `apt-get update`, then install again";
  if (output.contains("unmet dependencies") || output.contains("held broken packages"))
    return "the packages it needs contradict what is installed; `apt-get --simulate install` of them says which";
  return "apt-get failed: " + last_line(output);
}

std::optional<EnvironmentFailure> download_debian_packages(const InstallSession& session,
                                                           const std::vector<DebianPackage>& packages,
                                                           const fs::path& folder) {
  fs::create_directories(folder);
  std::vector<std::string> arguments = apt({"download", "--"});
  for (const DebianPackage& package : packages)
    arguments.push_back(package.version.empty() ? package.name : package.name + "=" + package.version);
  const auto ended = session.start(std::move(arguments), InstallSession::Clock::time_point::max(), {}, folder);
  if (ended.result.ok()) return std::nullopt;
  return session.failure(ended, "apt-get", explain_apt(ended.output));
}

std::expected<std::vector<std::string>, EnvironmentFailure> unpack_debian_packages(InstallSession& session) {
  const auto wanted = resolve_packages(session);
  if (!wanted) return std::unexpected(wanted.error());
  const std::int64_t bytes = session.options().wheels.empty() ? session.recipe().download_bytes : 0;
  session.say(fmt::format("download of {} packages of the distribution{}", wanted->size(),
                          bytes == 0 ? "" : fmt::format(" ({} MB)", bytes / 1'000'000)));
  const bool bundled = !session.options().wheels.empty();
  const fs::path folder = bundled ? session.options().wheels : session.places().downloads;
  if (!bundled) {
    if (auto failed = download_debian_packages(session, *wanted, folder)) return std::unexpected(std::move(*failed));
  }
  const std::vector<DebianFile> files = files_of(folder, *wanted);
  if (files.size() < wanted->size()) {
    return std::unexpected(
        session.error(fmt::format("of {} packages {} are there whole; install again", wanted->size(), files.size())));
  }
  session.say("unpack them");
  std::set<std::string> lock;
  for (const DebianFile& file : files) {
    const auto unpacked =
        session.start({"dpkg-deb", "--extract", file.path.string(), (session.places().folder / "debian").string()});
    if (!unpacked.result.ok()) {
      return std::unexpected(session.failure(
          unpacked, "dpkg-deb",
          fmt::format("the package {} cannot be unpacked: {}", file.package.name, last_line(unpacked.output))));
    }
    lock.insert(lock_line(file.package));
  }
  return std::vector<std::string>(lock.begin(), lock.end());
}

}  // namespace nocturne::measure
