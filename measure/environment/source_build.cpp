#include "measure/environment/source_build.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

#include "measure/container/runtimes.hpp"
#include "measure/environment/debian_packages.hpp"
#include "measure/environment/pip_error.hpp"
#include "measure/machine/machine.hpp"
#include "space/digest.hpp"
#include "space/file_contents.hpp"
#include "space/folder_entries.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;
using SourceResult = std::expected<std::vector<std::string>, EnvironmentFailure>;

constexpr std::chrono::seconds kCompilerPatience{10};

std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

/// apt with sources, lists and archives of our own below `folder`.
std::vector<std::string> private_apt(const fs::path& folder, std::initializer_list<std::string> words) {
  std::vector<std::string> result = {"apt-get", "--quiet=2"};
  for (const std::string& setting :
       {"Dir::Etc::SourceList=" + (folder / "sources.list").string(), std::string("Dir::Etc::SourceParts=/dev/null"),
        "Dir::State::Lists=" + (folder / "lists").string(), "Dir::Cache=" + (folder / "cache").string(),
        std::string("APT::Sandbox::User=root"), std::string("Acquire::Retries=3"),
        std::string("Acquire::Languages=none")}) {
    result.insert(result.end(), {"-o", setting});
  }
  result.insert(result.end(), words.begin(), words.end());
  return result;
}

fs::path file_ending_in(const fs::path& folder, std::string_view extension) {
  for (const fs::directory_entry& entry : space::entries_of(folder))
    if (entry.path().extension() == extension) return entry.path();
  return {};
}

/// What stands between the first `before` and the next `behind`; empty: there is no such thing on a line.
std::string_view between(std::string_view text, std::string_view before, std::string_view behind) {
  const std::size_t at = text.find(before);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = first_line(text.substr(at + before.size()));
  const std::size_t end = rest.find(behind);
  return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

/// The .dsc file of the source package, beside the archives it names.
std::expected<fs::path, EnvironmentFailure> get_source(InstallSession& session) {
  const SourcePackage& source = *session.recipe().build;
  session.say(fmt::format("source package {} of {}", source.package, source.suite));
  const auto targets = session.start({"apt-get", "indextargets", "--format", "$(ORIGIN) $(REPO_URI)"});
  const std::string mirror = debian_mirror(targets.output);
  if (!targets.result.ok() || mirror.empty())
    return std::unexpected(session.error("apt knows no archive of Debian here, so there is no source to be had"));
  const fs::path folder = session.places().temporary / "apt";
  for (const char* each : {"lists/partial", "cache/archives/partial", "source"}) fs::create_directories(folder / each);
  std::ofstream(folder / "sources.list") << fmt::format("deb-src {} {} main\n", mirror, source.suite);
  const auto updated = session.start(private_apt(folder, {"update"}));
  if (!updated.result.ok())
    return std::unexpected(session.failure(updated, "apt-get update", explain_apt(updated.output)));
  const auto got = session.start(private_apt(folder, {"source", "--download-only", "--", source.package}),
                                 InstallSession::Clock::time_point::max(), {}, folder / "source");
  fs::path description = file_ending_in(folder / "source", ".dsc");
  if (!got.result.ok() || description.empty())
    return std::unexpected(session.failure(got, "apt-get source", explain_apt(got.output)));
  return description;
}

std::optional<EnvironmentFailure> compile_source(InstallSession& session, const fs::path& source) {
  const fs::path build = session.places().temporary / "build";
  std::vector<std::string> configure = {"cmake",
                                        "-S",
                                        source.string(),
                                        "-B",
                                        build.string(),
                                        "-DCMAKE_BUILD_TYPE=Release",
                                        "-DCMAKE_INSTALL_LIBDIR=lib",
                                        "-DCMAKE_INSTALL_PREFIX=" + session.places().folder.string()};
  for (const std::string& word : session.recipe().build->cmake)
    configure.push_back(with_empty_package(word, session.places().temporary / "nothing"));
  const unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  const std::vector<std::pair<std::string, std::vector<std::string>>> steps = {
      {"configure", configure},
      {"build", {"cmake", "--build", build.string(), "--parallel", std::to_string(jobs)}},
      {"install", {"cmake", "--install", build.string(), "--strip"}}};
  for (const auto& [what, command] : steps) {
    session.say(what);
    const auto ended = session.start(command);
    if (!ended.result.ok()) return session.failure(ended, what, explain_build(what, ended.output));
  }
  return std::nullopt;
}

}  // namespace

std::string debian_mirror(std::string_view lines) {
  while (!lines.empty()) {
    const std::string_view line = first_line(lines);
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    constexpr std::string_view kDebian = "Debian ";
    if (!line.starts_with(kDebian) || line.contains("security")) continue;
    const std::string_view address = line.substr(kDebian.size());
    if (address.starts_with("http") && address.find_first_of(" []") == std::string_view::npos)
      return std::string(address);
  }
  return {};
}

std::string version_of_dsc(std::string_view text) {
  constexpr std::string_view kKey = "\nVersion: ";
  const std::size_t at = text.find(kKey);
  return at == std::string_view::npos ? std::string() : std::string(first_line(text.substr(at + kKey.size())));
}

std::string with_empty_package(const std::string& definition, const fs::path& folder) {
  constexpr std::string_view kStart = "-D", kEnd = "_DIR={nothing}";
  if (!definition.starts_with(kStart) || !definition.ends_with(kEnd)) return definition;
  const std::string name = definition.substr(kStart.size(), definition.size() - kStart.size() - kEnd.size());
  if (name.contains('/')) return definition;
  fs::create_directories(folder);
  std::ofstream(folder / (name + "Config.cmake")) << "# nothing of " << name << " is used\n";
  return fmt::format("-D{}_DIR={}", name, folder.string());
}

std::string explain_build(std::string_view what, std::string_view output) {
  if (const auto package = between(output, "configuration file provided by \"", "\""); !package.empty()) {
    return fmt::format(
        "{} needs the development files of {}; install them (Debian: the package lib{}-dev, or the one "
        "that `apt-file search {}Config.cmake` names)",
        what, package, package, package);
  }
  // CMake indents an error like this; what is optional has dashes before it.
  if (const auto package = between(output, "\n  Could NOT find ", " "); !package.empty())
    return fmt::format("{} needs {}, and that is not here: install its development files", what, package);
  if (const auto header = between(output, "fatal error: ", ": No such file"); !header.empty()) {
    return fmt::format(
        "{} needs the header {}; install the package that holds it (Debian: `apt-file search {}` names it)", what,
        header, header);
  }
  return fmt::format("{} fails: {}", what, last_line(output));
}

std::string build_abi(const EnvironmentRecipe& recipe) {
  const auto compiler = ask_tool({"c++", "--version"}, kCompilerPatience);
  std::string abi = compiler ? std::string(first_line(*compiler)) : "unknown";
  const bool native = recipe.build && std::ranges::any_of(recipe.build->cmake, [](const std::string& word) {
                        return word.contains("native");
                      });
  if (native)
    abi += " for " + space::sha256(fmt::format("{}", fmt::join(probe_machine_cheaply().isa, " "))).substr(0, 12);
  return abi;
}

SourceResult build_from_source(InstallSession& session) {
  const auto description = get_source(session);
  if (!description) return std::unexpected(description.error());
  const fs::path source = session.places().temporary / "source";
  const auto unpacked =
      session.start({"dpkg-source", "--no-check", "--extract", description->string(), source.string()});
  if (!unpacked.result.ok()) {
    return std::unexpected(
        session.failure(unpacked, "dpkg-source", "the source cannot be unpacked: " + last_line(unpacked.output)));
  }
  if (auto failed = compile_source(session, source)) return std::unexpected(std::move(*failed));
  const DebianPackage package{session.recipe().build->package,
                              version_of_dsc(space::read_file(*description).value_or(""))};
  return std::vector<std::string>{lock_line(package)};
}

}  // namespace nocturne::measure
