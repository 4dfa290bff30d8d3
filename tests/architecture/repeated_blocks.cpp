#include "tests/architecture/repeated_blocks.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>
#include <utility>

#include "tests/architecture/source_text.hpp"

namespace nocturne::architecture {
namespace {

struct CodeLine {
  std::string code;  ///< without white space
  std::size_t number;
};

std::vector<CodeLine> code_lines(std::string_view text) {
  std::vector<CodeLine> lines;
  CodeLine line{.code = {}, .number = 1};
  const auto end_line = [&] {
    const std::size_t next = line.number + 1;
    if (!line.code.empty() && !line.code.starts_with('#')) lines.push_back(std::move(line));
    line = {.code = {}, .number = next};
  };
  const auto append = [&](std::string_view part, bool counts) {
    for (const char c : part)
      if (c == '\n')
        end_line();
      else if (counts && std::isspace(static_cast<unsigned char>(c)) == 0)
        line.code += c;
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t opaque = end_of_opaque(text, at);
    const std::size_t end = std::max(opaque, at + 1);
    append(text.substr(at, end - at), opaque == at || text[at] != '/');
    at = end;
  }
  end_line();
  return lines;
}

struct Place {
  std::size_t source, line;  ///< positions, from 0
};

}  // namespace

std::vector<RepeatedBlock> repeated_blocks(std::span<const SourceText> sources, std::size_t least) {
  std::vector<std::vector<CodeLine>> code;
  for (const SourceText& source : sources) code.push_back(code_lines(source.text));
  std::vector<RepeatedBlock> found;
  std::map<std::string, Place> first;  // by the code of `least` lines
  for (std::size_t s = 0; s < code.size(); ++s) {
    for (std::size_t i = 0; i + least <= code[s].size();) {
      std::string block;
      for (std::size_t j = i; j < i + least; ++j) block += code[s][j].code + '\n';
      const auto [place, is_new] = first.try_emplace(std::move(block), Place{s, i});
      // A table whose lines are all alike repeats itself at the next line: only what lies apart is a copy.
      if (is_new || (place->second.source == s && i < place->second.line + least)) {
        ++i;
        continue;
      }
      const auto& earlier = code[place->second.source];
      const std::size_t begin = place->second.line;
      std::size_t lines = least;
      while (i + lines < code[s].size() && begin + lines < earlier.size() &&
             code[s][i + lines].code == earlier[begin + lines].code) {
        ++lines;
      }
      found.push_back({.file = sources[s].path,
                       .line = code[s][i].number,
                       .lines = lines,
                       .first_file = sources[place->second.source].path,
                       .first_line = earlier[begin].number});
      i += lines;
    }
  }
  return found;
}

}  // namespace nocturne::architecture
