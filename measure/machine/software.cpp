// Compilers and libraries: what can be built here, and what the workers are linked with.

#include <fmt/format.h>
#include <gnu/libc-version.h>

#include <array>
#include <chrono>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "measure/artifact/compiler.hpp"
#include "measure/artifact/parallel.hpp"
#include "measure/artifact/process.hpp"
#include "measure/machine/parts.hpp"
#include "measure/run/launch.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kProgramDeadline{10};  // a compiler that does not tell its version by then is broken
constexpr std::size_t kDigestDigits = 16;
constexpr int kCompilersAtOnce = 4;

std::vector<Compiler> compilers() {
  const std::vector<fs::path> paths = find_compilers();
  std::vector<std::optional<std::string>> versions(paths.size());  // empty: it does not tell
  for_each_in_parallel(paths.size(), kCompilersAtOnce, [&](std::size_t i) {
    const auto text =
        command_output({.argv = {paths[i].string(), "--version"}}, std::chrono::steady_clock::now() + kProgramDeadline);
    if (text) versions[i] = text->substr(0, text->find('\n'));
    return true;
  });
  std::vector<Compiler> found;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (!versions[i]) continue;
    found.push_back({.name = paths[i].filename(), .path = paths[i].string(), .version = *std::move(versions[i])});
  }
  return found;
}

/// Headers that kernels/onednn/build.json needs beside oneDNN's, and their Debian packages.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kHeaders = {
    {{"cstdio", "g++"},  // clang++ has no standard library of its own
     {"nlohmann/json_fwd.hpp", "nlohmann-json3-dev"},
     {"zlib.h", "zlib1g-dev"},
     {"jpeglib.h", "libjpeg62-turbo-dev"}}};

/// Those that this compiler does not find. It is asked, and reads none of them: that would take 40 ms.
std::vector<MissingHeader> missing_headers(const std::string& compiler, const fs::path& json_prefix) {
  std::string question;
  for (const auto& [name, package] : kHeaders)
    question += fmt::format("#if !__has_include(<{0}>)\n\"{0}\"\n#endif\n", name);
  std::vector<std::string> argv = {"/bin/sh", "-c", "printf %s \"$0\" | \"$@\"", question, compiler};
  if (!json_prefix.empty()) argv.push_back("-I" + (json_prefix / "include").string());
  argv.insert(argv.end(), {"-E", "-x", "c++", "-"});
  const auto answer = command_output({.argv = argv}, std::chrono::steady_clock::now() + kProgramDeadline);
  std::vector<MissingHeader> missing;
  for (const auto& [name, package] : kHeaders)
    if (!answer || answer->contains(fmt::format("\"{}\"", name)))
      missing.push_back({std::string(name), std::string(package)});
  return missing;
}

/// "3.2.0" from oneDNN's own header; empty where it is not installed.
std::string onednn_version(const fs::path& prefix) {
  const fs::path include = prefix.empty() ? fs::path("/usr/include") : prefix / "include";
  int major = -1, minor = -1, patch = -1;
  std::istringstream lines(whole_text(include / "oneapi/dnnl/dnnl_version.h"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string define, name;
    int value = 0;
    if (!(words >> define >> name >> value) || define != "#define") continue;
    if (name == "DNNL_VERSION_MAJOR") major = value;
    if (name == "DNNL_VERSION_MINOR") minor = value;
    if (name == "DNNL_VERSION_PATCH") patch = value;
  }
  return major < 0 ? std::string() : fmt::format("{}.{}.{}", major, minor, patch);
}

/// libgomp's file name says the same for each GCC, so its contents speak.
std::string libgomp(const LaunchMachine& machine) {
  const auto path = machine.find_library("libgomp.so.1");
  if (!path) return {};
  return fmt::format("libgomp.so.1 sha256:{}", file_digest(*path).substr(0, kDigestDigits));
}

}  // namespace

void read_software(const MachineRoots& roots, MachineFacts& facts) {
  facts.libc = fmt::format("glibc {}", gnu_get_libc_version());
  if (!roots.probe_programs) return;
  const LaunchMachine machine = probe_launch_machine();
  facts.compilers = compilers();
  if (!facts.compilers.empty())
    facts.missing_headers = missing_headers(facts.compilers.front().path, roots.json_prefix);
  facts.onednn = onednn_version(roots.onednn_prefix);
  facts.libgomp = libgomp(machine);
  facts.allocators = available_allocators(machine);
}

}  // namespace nocturne::measure
