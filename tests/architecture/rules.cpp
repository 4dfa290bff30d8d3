#include "tests/architecture/rules.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <tuple>

#include "tests/architecture/function_lengths.hpp"
#include "tests/architecture/repeated_blocks.hpp"

namespace nocturne::architecture {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestFunction = 60;  // one screen
constexpr std::size_t kShortestCopy = 12;     // shorter ones are idioms: options of a program, members of an interface

// Which of the tree's parts a part may include besides itself.
const std::map<std::string, std::set<std::string>, std::less<>> kArrows = {
    {"space", {}},
    {"search", {"space"}},
    {"measure", {"space", "measure/protocol"}},
    {"measure/protocol", {}},
    {"db", {"space"}},
    {"kernels",
     {"kernels/data", "kernels/networks", "kernels/worker", "measure/protocol"}},  // holds for each kernels/NAME
    // Its GPUs' figures are told as those of the processor: one shape, one way of repeating.
    {"kernels/cuda", {"kernels/data", "kernels/machine", "kernels/networks", "kernels/worker", "measure/protocol"}},
    // A network's table says what it is trained with: one table for the workers and for campaign files.
    {"tuner", {"space", "search", "measure", "measure/protocol", "db", "kernels/networks"}},
};

// The components of a part that has several, each with its level: it includes lower levels, never its own or a higher
// one.
const std::map<std::string, int, std::less<>> kLevels = {
    {"measure/accuracy", 0},     {"measure/artifact", 0},    {"measure/gate", 0},       {"measure/supervisor", 0},
    {"measure/topology", 0},     {"measure/container", 1},   {"measure/run", 2},        {"measure/comparison", 3},
    {"measure/machine", 3},      {"measure/environment", 4}, {"tuner/installation", 0}, {"tuner/schema", 0},
    {"tuner/campaign_file", 1},  {"tuner/registry", 2},      {"tuner/roofline", 2},     {"tuner/executor", 3},
    {"tuner/training_check", 4}, {"tuner/campaign", 5},      {"tuner/ask_tell", 6},     {"tuner/exchange", 6},
    {"tuner/doctor", 6},         {"tuner/own_command", 6},   {"tuner/predict", 6},      {"tuner/preview", 6},
    {"tuner/deploy", 7},         {"tuner/report", 8},        {"tuner/request", 9},      {"tuner/cli", 10},
    {"tuner/main.cpp", 11},
};

// Places of one machine, and promises. In halves, so that this file does not break its own rule.
constexpr std::array kForbidden = {
    "/wo"
    "rk/",
    "TO"
    "DO",
    "FIX"
    "ME"};
// Homes; a test may invent one.
constexpr std::array kForbiddenOutsideTests = {
    "/ho"
    "me/",
    "/ro"
    "ot/",
    "/Us"
    "ers/"};

bool is_one_of(std::string_view extension, std::initializer_list<std::string_view> set) {
  return std::ranges::find(set, extension) != set.end();
}

std::string extension_of(std::string_view path) {
  return fs::path(path).extension().string();
}

bool is_header(std::string_view path) {
  return is_one_of(extension_of(path), {".hpp", ".h", ".cuh"});
}

bool is_cpp(std::string_view path) {
  return is_header(path) || is_one_of(extension_of(path), {".cpp", ".cc", ".cu"});
}

bool is_source(std::string_view path) {
  return is_cpp(path) || is_one_of(extension_of(path), {".py", ".sh", ".sql", ".cmake", ".md", ".json", ".txt"});
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  return first == std::string_view::npos ? std::string_view{} : text.substr(first);
}

// The path between the quotes or brackets of an include line.
std::optional<std::pair<std::string_view, bool>> included_by(std::string_view line) {
  line = trimmed(line);
  if (!line.starts_with('#')) return std::nullopt;
  line = trimmed(line.substr(1));
  if (!line.starts_with("include")) return std::nullopt;
  line = trimmed(line.substr(7));
  if (line.empty() || (line.front() != '"' && line.front() != '<')) return std::nullopt;
  const bool quoted = line.front() == '"';
  const auto end = line.find(quoted ? '"' : '>', 1);
  if (end == std::string_view::npos) return std::nullopt;
  return std::pair{line.substr(1, end - 1), quoted};
}

std::optional<std::string> wrong_include(std::string_view path, std::string_view line) {
  const auto include = included_by(line);
  if (!include) return std::nullopt;
  const auto [target, quoted] = *include;
  const std::string from = component_of(path);
  const std::string to = component_of(target);
  if (to.empty()) {
    if (!quoted) return std::nullopt;
    return "\"" + std::string(target) + "\" is not written from the root";
  }
  if (from == "tests" || may_include(from, to)) return std::nullopt;
  return from + " may not include " + to + " (" + std::string(target) + ")";
}

/// A component with a level belongs to its first folder. Any other is a part itself: "space", "measure/protocol",
/// "kernels/onednn".
std::string_view part_of(std::string_view component) {
  return kLevels.contains(component) ? component.substr(0, component.find('/')) : component;
}

/// Longer than a screen.
std::vector<Violation> long_functions(std::string_view path, std::string_view text) {
  std::vector<Violation> findings;
  for (const Function& function : functions_of(text)) {
    if (function.lines <= kLongestFunction) continue;
    findings.push_back({std::string(path), function.line,
                        function.name + " has " + std::to_string(function.lines) + " lines; " +
                            std::to_string(kLongestFunction) + " fit on a screen"});
  }
  return findings;
}

bool is_homeless(std::string_view component) {
  return (component.starts_with("measure/") || component.starts_with("tuner/")) && component != "measure/protocol" &&
         !kLevels.contains(component);
}

bool is_third_party(std::string_view path) {
  constexpr std::array kFolders = {"/nlohmann/", "/valijson/", "/third_party/", "/vendor/", "/external/"};
  return std::ranges::any_of(kFolders, [path](std::string_view folder) { return path.contains(folder); });
}

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + file.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

std::string component_of(std::string_view path) {
  const auto slash = path.find('/');
  if (slash == std::string_view::npos) return {};
  const std::string_view first = path.substr(0, slash);
  if (first == "kernels" || first == "measure" || first == "tuner")
    return std::string(path.substr(0, path.find('/', slash + 1)));
  if (first == "tests" || kArrows.contains(first)) return std::string(first);
  return {};
}

bool may_include(std::string_view from, std::string_view to) {
  if (from == to) return true;
  const std::string_view from_part = part_of(from), to_part = part_of(to);
  if (from_part == to_part) {
    const auto level = kLevels.find(from), other = kLevels.find(to);
    return level != kLevels.end() && other != kLevels.end() && other->second < level->second;
  }
  auto arrows = kArrows.find(from_part);
  if (arrows == kArrows.end() && from.starts_with("kernels/")) arrows = kArrows.find("kernels");
  return arrows != kArrows.end() && arrows->second.contains(std::string(to_part));
}

std::vector<Violation> check_text(std::string_view path, std::string_view text) {
  std::vector<Violation> findings;
  const auto report = [&](std::size_t line, std::string what) {
    findings.push_back({std::string(path), line, std::move(what)});
  };
  const std::string component = component_of(path);
  const bool is_test = component == "tests";
  const std::string_view whole = text;
  std::size_t number = 0;
  bool guarded = !is_header(path);
  bool code_began = false;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (const std::string_view content = trimmed(line); !code_began && !content.empty() && !content.starts_with("//")) {
      code_began = true;
      guarded = guarded || content.starts_with("#pragma once");
    }
    if (is_cpp(path)) {
      if (auto what = wrong_include(path, line)) report(number, std::move(*what));
    }
    const auto refuse = [&](std::string_view word) {
      if (line.contains(word)) report(number, "'" + std::string(word) + "' has no place here");
    };
    std::ranges::for_each(kForbidden, refuse);
    if (!is_test) std::ranges::for_each(kForbiddenOutsideTests, refuse);
  }
  if (is_third_party(path)) report(0, "third-party code is no part of the tree: name the package that has it");
  if (!guarded) report(1, "a header starts with #pragma once");
  if (is_cpp(path) && is_homeless(component))
    report(0, "belongs to no component: a folder with a level in tests/architecture");
  if (is_cpp(path) && !is_test) std::ranges::move(long_functions(path, whole), std::back_inserter(findings));
  return findings;
}

std::vector<fs::path> files_of(const fs::path& root) {
  std::vector<fs::path> files;
  for (const char* folder : {"space", "search", "measure", "db", "kernels", "tuner", "tests", "examples"}) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder))
      if (entry.is_regular_file() && is_source(entry.path().string())) files.push_back(entry.path());
  }
  for (const auto& entry : fs::directory_iterator(root))
    if (entry.is_regular_file() && is_source(entry.path().string())) files.push_back(entry.path());
  for (const char* script : {"quickstart", "check", ".ci/format", ".ci/get-json", ".ci/run", ".ci/setup.sh"})
    if (fs::exists(root / script)) files.push_back(root / script);
  std::ranges::sort(files);
  return files;
}

std::vector<Violation> check_tree(const fs::path& root) {
  std::vector<Violation> findings;
  std::vector<SourceText> sources;
  for (const fs::path& file : files_of(root)) {
    SourceText source{.path = file.lexically_relative(root).generic_string(), .text = read(file)};
    std::ranges::move(check_text(source.path, source.text), std::back_inserter(findings));
    if (is_cpp(source.path) && component_of(source.path) != "tests") sources.push_back(std::move(source));
  }
  for (const RepeatedBlock& block : repeated_blocks(sources, kShortestCopy)) {
    findings.push_back({block.file, block.line,
                        std::to_string(block.lines) + " lines stand in " + block.first_file + ":" +
                            std::to_string(block.first_line) + " already: write the idea once"});
  }
  std::ranges::sort(findings, {}, [](const Violation& f) { return std::tie(f.file, f.line, f.what); });
  return findings;
}

}  // namespace nocturne::architecture
