#include "measure/artifact/compiler.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>

#include "measure/artifact/process.hpp"
#include "space/digest.hpp"
#include "space/file_contents.hpp"
#include "space/folder_entries.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::vector<fs::path> search_path() {
  std::vector<fs::path> folders;
  const char* listed = std::getenv("PATH");
  std::string_view rest = listed != nullptr ? listed : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0 && rest.front() == '/') folders.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return folders;
}

bool is_usable(const fs::path& program) {
  std::error_code error;
  if (!fs::is_regular_file(program, error) || access(program.c_str(), X_OK) != 0) return false;
  const fs::path real = fs::canonical(program, error);
  return !error && real.filename() != "ccache" && real.filename() != "sccache";
}

bool is_compiler_name(std::string_view name) {
  for (const std::string_view stem : {"g++", "clang++"}) {
    if (!name.starts_with(stem)) continue;
    const std::string_view rest = name.substr(stem.size());
    if (rest.empty()) return true;
    const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
    return rest.size() > 1 && rest.front() == '-' && std::ranges::all_of(rest.substr(1), is_digit);
  }
  return false;
}

/// clang++-19 → clang-19; g++ stays. Debian's names.
std::string package_of(std::string_view compiler) {
  std::string name(compiler);
  if (const auto at = name.find("clang++"); at != std::string::npos) name.replace(at, 7, "clang");
  return name;
}

/// The words of a shell-quoted line as -### prints it.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false, any = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\\' && i + 1 < line.size()) {
      word += line[++i];
      any = true;
    } else if (c == '"' || c == '\'') {
      quoted = !quoted;
      any = true;
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0 && !quoted) {
      if (any) words.push_back(std::move(word));
      word.clear();
      any = false;
    } else {
      word += c;
      any = true;
    }
  }
  if (any) words.push_back(std::move(word));
  return words;
}

/// The line of -### that starts the compiler proper.
std::string_view compiler_line(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (line.starts_with(' ') && (line.contains("cc1plus") || line.contains("-cc1"))) return line;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

}  // namespace

std::optional<fs::path> find_program(std::string_view name) {
  if (name.empty()) return std::nullopt;
  if (name.front() == '/') return is_usable(name) ? std::optional<fs::path>(name) : std::nullopt;
  if (name.contains('/')) return std::nullopt;
  for (const fs::path& folder : search_path())
    if (is_usable(folder / name)) return folder / name;
  return std::nullopt;
}

std::vector<fs::path> find_compilers() {
  std::set<std::string> names;
  for (const fs::path& folder : search_path()) {
    for (const fs::directory_entry& entry : space::entries_of(folder)) {
      const std::string name = entry.path().filename();
      if (is_compiler_name(name)) names.insert(name);
    }
  }
  std::vector<fs::path> found;
  for (const std::string& name : names)
    if (auto path = find_program(name)) found.push_back(std::move(*path));
  return found;
}

std::string file_digest(const fs::path& file) {
  return space::sha256_of_file(file).value_or("");
}

std::expected<CompilerIdentity, std::string> identify_compiler(std::string_view name, Clock::time_point deadline,
                                                               const std::stop_token& stop) {
  const auto path = find_program(name);
  if (!path) {
    return std::unexpected(
        fmt::format("the compiler '{}' is not on PATH: install the package {}", name, package_of(name)));
  }
  const auto version = command_output({.argv = {path->string(), "--version"}}, deadline, stop);
  if (!version) return std::unexpected(version.error());

  CompilerIdentity identity{.path = *path, .version = version->substr(0, version->find('\n'))};
  identity.clang = version->contains("clang");
  space::Sha256 hash;
  hash.update(*version);
  hash.update(file_digest(*path));
  if (const auto backend = command_output({.argv = {path->string(), "-print-prog-name=cc1plus"}}, deadline, stop)) {
    const std::string file = backend->substr(0, backend->find('\n'));
    if (file.starts_with('/')) hash.update(file_digest(file));
  }
  identity.digest = hash.finish();
  return identity;
}

std::expected<std::string, std::string> spelled_out_target(const CompilerIdentity& compiler,
                                                           const std::vector<std::string>& arguments,
                                                           Clock::time_point deadline, const std::stop_token& stop) {
  Command command{.argv = {compiler.path.string()}};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.argv.insert(command.argv.end(), {"-###", "-E", "-x", "c++", "/dev/null"});
  const auto text = command_output(command, deadline, stop);
  if (!text) return std::unexpected(text.error());
  const std::vector<std::string> words = words_of(compiler_line(*text));
  std::string target;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool with_value =
        word == "--param" || word == "-target-cpu" || word == "-tune-cpu" || word == "-target-feature";
    if (with_value && i + 1 < words.size())
      target += word + ' ' + words[++i] + '\n';
    else if (word.starts_with("-m") || word.starts_with("--param="))
      target += word + '\n';
  }
  if (target.empty())
    return std::unexpected(fmt::format("{} does not say for which machine it compiles", compiler.path.string()));
  return target;
}

}  // namespace nocturne::measure
