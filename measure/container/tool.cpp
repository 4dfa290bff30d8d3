// Looking for a runtime's programs and asking them.

#include <unistd.h>

#include <cstdlib>

#include "measure/artifact/process.hpp"
#include "measure/container/runtimes.hpp"

namespace nocturne::measure {

std::optional<std::filesystem::path> find_tool(std::string_view name) {
  const char* variable = std::getenv("PATH");
  std::string_view folders = variable != nullptr ? variable : "/usr/sbin:/usr/bin:/sbin:/bin";
  while (!folders.empty()) {
    const std::size_t end = std::min(folders.find(':'), folders.size());
    std::filesystem::path candidate = std::filesystem::path(folders.substr(0, end)) / name;
    std::error_code ignored;
    if (candidate.is_absolute() && std::filesystem::is_regular_file(candidate, ignored) &&
        ::access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
    folders.remove_prefix(std::min(end + 1, folders.size()));
  }
  return std::nullopt;
}

std::expected<std::string, std::string> ask_tool(const std::vector<std::string>& argv, std::chrono::seconds patience) {
  const auto program = find_tool(argv.front());
  if (!program) return std::unexpected(argv.front() + " is not installed");
  std::vector<std::string> words = argv;
  words.front() = program->string();
  auto said = command_output({.argv = std::move(words)}, std::chrono::steady_clock::now() + patience);
  std::string text = said ? std::move(*said) : std::move(said.error());
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (said) return text;
  const std::size_t line = text.rfind('\n');
  return std::unexpected(line == std::string::npos ? text : text.substr(line + 1));
}

}  // namespace nocturne::measure
