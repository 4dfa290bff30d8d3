// What can be told of a command by looking at its words and the scripts they name.

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include <re2/re2.h>

#include "space/file_contents.hpp"
#include "tuner/executor/own_command.hpp"
#include "tuner/own_command/command_document.hpp"

namespace nocturne::tuner {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 8> kFrameworks = {"tensorflow", "torch", "mxnet",    "jax",
                                                         "paddle",     "keras", "tinygrad", "numpy"};

}  // namespace

std::string name_of_command(const std::vector<std::string>& words) {
  const auto script = std::ranges::find_if(
      words, [](const auto& word) { return word.ends_with(".ipynb") || !interpreter_of(word).empty(); });
  std::string text = fs::path(script != words.end() ? *script : words.front()).stem().string();
  const auto module = std::ranges::find(words, "-m");
  if (script == words.end() && module != words.end() && module + 1 != words.end()) text = module[1];
  std::string name;
  for (const char c : text.substr(0, 64)) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
    name += plain ? c : '-';
  }
  if (name.empty() || std::isalnum(static_cast<unsigned char>(name.front())) == 0) name = "command-" + name;
  return name.substr(0, 64);
}

std::vector<std::string> imported_frameworks(const std::vector<std::string>& words, const fs::path& folder) {
  std::vector<std::string> found;
  for (const std::string& word : words) {
    std::error_code error;
    const fs::path file = folder / word;
    if (!word.ends_with(".py") || !fs::is_regular_file(file, error) || fs::file_size(file, error) > kLargestScriptBytes)
      continue;
    const std::string text = space::read_file(file).value_or("");
    for (const std::string_view framework : kFrameworks) {
      // `from X import …`, and X anywhere in the list of an `import`.
      const std::string name = std::string(framework) + "\\b";
      const bool imports =
          RE2::PartialMatch(text, "(?m)^[ \t]*(?:from[ \t]+" + name +
                                      "|import[ \t]+(?:[\\w.]+(?:[ \t]+as[ \t]+\\w+)?[ \t]*,[ \t]*)*" + name + ")");
      if (imports && std::ranges::find(found, framework) == found.end()) found.emplace_back(framework);
    }
  }
  return found;
}

}  // namespace nocturne::tuner
