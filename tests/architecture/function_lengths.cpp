#include "tests/architecture/function_lengths.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "tests/architecture/source_text.hpp"

namespace nocturne::architecture {
namespace {

/// Whether a word of the text is one of these.
bool names(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [text](std::string_view word) {
    const std::size_t at = text.find(word);
    if (at == std::string_view::npos) return false;
    const std::size_t end = at + word.size();
    return (at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]));
  });
}

/// The name before the parameters of what stands before a brace; none: what it opens is no function.
std::optional<std::string> function_named(std::string_view head) {
  const std::size_t last = head.find_last_not_of(" \n");
  if (last == std::string_view::npos || std::string_view("=,({").contains(head[last])) return std::nullopt;
  const std::size_t parameters = head.find('(');
  if (parameters == std::string_view::npos) return std::nullopt;
  if (names(head.substr(0, parameters), {"namespace", "class", "struct", "enum", "union"})) return std::nullopt;
  std::size_t begin = parameters;
  while (begin > 0 && (is_word(head[begin - 1]) || head[begin - 1] == ':' || head[begin - 1] == '~')) --begin;
  return std::string(head.substr(begin, parameters - begin));
}

/// Reads a source once and keeps what is open.
class Reader {
 public:
  void read(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
      if (const std::size_t end = end_of_opaque(text, at); end > at) {
        line_ += static_cast<std::size_t>(std::ranges::count(text.substr(at, end - at), '\n'));
        at = end;
      } else {
        take(text[at++]);
      }
    }
  }
  std::vector<Function> found;

 private:
  struct Block {
    std::optional<std::string> function;
    std::size_t line;
  };

  void take(char c) {
    if (c == '\n') {
      ++line_;
      if (head_.starts_with('#') && !head_.ends_with('\\')) head_.clear();
    }
    if (c == '{') {
      const bool inside = std::ranges::any_of(open_, [](const Block& block) { return block.function.has_value(); });
      open_.push_back({inside ? std::nullopt : function_named(head_), head_.empty() ? line_ : head_line_});
      head_.clear();
    } else if (c == '}' || c == ';') {
      if (c == '}') close();
      head_.clear();
    } else if (!head_.empty() || std::isspace(static_cast<unsigned char>(c)) == 0) {
      if (head_.empty()) head_line_ = line_;
      head_ += c;
    }
  }

  void close() {
    if (open_.empty()) return;
    Block block = std::move(open_.back());
    open_.pop_back();
    if (block.function) found.push_back({*std::move(block.function), block.line, line_ - block.line + 1});
  }

  std::vector<Block> open_;
  std::string head_;  ///< since the last brace or semicolon
  std::size_t head_line_ = 1, line_ = 1;
};

}  // namespace

std::vector<Function> functions_of(std::string_view source) {
  Reader reader;
  reader.read(source);
  return std::move(reader.found);
}

}  // namespace nocturne::architecture
