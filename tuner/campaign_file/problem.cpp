#include "tuner/campaign_file/problem.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace nocturne::tuner {
std::string excerpt_of(std::string_view line_text, std::size_t column) {
  constexpr std::size_t kWidth = 100;
  std::string line(line_text);
  std::ranges::replace_if(line, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7F; }, ' ');
  std::size_t before = column > 0 ? column - 1 : 0;
  if (line.size() > kWidth) {
    // Bytes stand for characters here: a cut must not leave half of one, and the place matters, not the words.
    std::ranges::replace_if(line, [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
    const std::size_t begin = std::min(before > kWidth / 2 ? before - kWidth / 2 : 0, line.size());
    line = line.substr(begin, kWidth);
    before -= begin;
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return fmt::format("{}\n{:>{}}", line, "^", before + 1);
}

std::string to_text(const Problem& problem) {
  std::string text = problem.file;
  if (problem.line > 0) text += fmt::format(":{}", problem.line);
  if (problem.line > 0 && problem.column > 0) text += fmt::format(":{}", problem.column);
  text += ": ";
  if (!problem.pointer.empty()) text += problem.pointer + ": ";
  text += problem.found;
  if (!problem.allowed.empty()) text += "; allowed: " + problem.allowed;
  if (!problem.nearest.empty()) text += fmt::format(". Did you mean '{}'?", problem.nearest);
  for (std::size_t start = 0; start < problem.excerpt.size();) {
    const std::size_t end = std::min(problem.excerpt.find('\n', start), problem.excerpt.size());
    text += "\n    " + problem.excerpt.substr(start, end - start);
    start = end + 1;
  }
  return text;
}

std::string to_text(std::span<const Problem> problems) {
  std::string text;
  for (const Problem& problem : problems) {
    if (!text.empty()) text += '\n';
    text += to_text(problem);
  }
  return text;
}

std::string to_sentence(std::span<const Problem> problems) {
  std::string text;
  for (Problem problem : problems) {
    problem.line = 0;
    problem.excerpt.clear();
    text += text.empty() ? to_text(problem) : "; and " + to_text(problem).substr(problem.file.size() + 2);
  }
  return text;
}

nlohmann::json to_json(const Problem& problem) {
  nlohmann::json document = {{"file", problem.file}, {"pointer", problem.pointer}, {"found", problem.found}};
  if (problem.line > 0) document["line"] = problem.line;
  if (problem.column > 0) document["column"] = problem.column;
  if (!problem.allowed.empty()) document["allowed"] = problem.allowed;
  if (!problem.nearest.empty()) document["nearest"] = problem.nearest;
  return document;
}

}  // namespace nocturne::tuner
