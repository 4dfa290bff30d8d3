#include "tuner/campaign_file/text_cursor.hpp"

#include <algorithm>

namespace nocturne::tuner {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kPunctuation = "{}[],:";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kBlockBytes = 256;  // so many are counted at most for a position

bool contains(std::string_view set, char c) {
  return set.find(c) != std::string_view::npos;
}

std::size_t characters_of(std::string_view text) {
  const auto is_character_start = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  return static_cast<std::size_t>(std::ranges::count_if(text, is_character_start));
}

}  // namespace

TextCursor::TextCursor(std::string_view text) : text_(text), line_starts_{0} {
  for (std::size_t i = 0; i < text_.size(); ++i)
    if (text_[i] == '\n') line_starts_.push_back(i + 1);
  std::size_t characters = 0;
  for (std::size_t begin = 0; begin <= text_.size(); begin += kBlockBytes) {
    characters_before_block_.push_back(characters);
    characters += characters_of(text_.substr(begin, kBlockBytes));
  }
  if (text_.starts_with(kByteOrderMark)) offset_ = kByteOrderMark.size();
}

std::size_t TextCursor::next_token() {
  std::size_t start = next_token_or_separator();
  while (start < text_.size() && (text_[start] == ',' || text_[start] == ':')) start = next_token_or_separator();
  return start;
}

std::size_t TextCursor::next_token_or_separator() {
  skip_blanks();
  const std::size_t start = offset_;
  skip_token();
  return start;
}

void TextCursor::skip_blanks() {
  while (offset_ < text_.size()) {
    const std::string_view rest = text_.substr(offset_);
    std::size_t skip = 0;
    if (contains(kBlanks, rest.front())) {
      skip = 1;
    } else if (rest.starts_with("//")) {
      skip = std::min(rest.find_first_of("\r\n"), rest.size());  // where the parser ends it
    } else if (rest.starts_with("/*")) {
      const std::size_t end = rest.find("*/", 2);
      skip = end == std::string_view::npos ? rest.size() : end + 2;
    } else {
      return;
    }
    offset_ += skip;
  }
}

void TextCursor::skip_token() {
  if (offset_ >= text_.size()) return;
  if (contains(kPunctuation, text_[offset_])) {
    ++offset_;
  } else if (text_[offset_] == '"') {
    ++offset_;
    while (offset_ < text_.size() && text_[offset_] != '"' && text_[offset_] != '\n')
      offset_ += text_[offset_] == '\\' ? 2U : 1U;
    offset_ = std::min(offset_ + 1, text_.size());
  } else {
    const auto ends = [](char c) { return contains(kBlanks, c) || contains(kPunctuation, c) || c == '"' || c == '/'; };
    do ++offset_;
    while (offset_ < text_.size() && !ends(text_[offset_]));
  }
}

std::size_t TextCursor::line_index(std::size_t offset) const {
  const auto after = std::ranges::upper_bound(line_starts_, offset);
  return static_cast<std::size_t>(after - line_starts_.begin()) - 1;
}

std::size_t TextCursor::characters_before(std::size_t offset) const {
  const std::size_t block = offset / kBlockBytes, begin = block * kBlockBytes;
  return characters_before_block_[block] + characters_of(text_.substr(begin, offset - begin));
}

LineColumn TextCursor::position(std::size_t offset) const {
  offset = std::min(offset, text_.size());
  const std::size_t line = line_index(offset), start = line_starts_[line];
  std::size_t characters = characters_before(offset) - characters_before(start);
  if (text_.substr(start, offset - start).starts_with(kByteOrderMark)) --characters;
  return {.line = line + 1, .column = characters + 1};
}

std::string_view TextCursor::line_text(std::size_t offset) const {
  const std::size_t start = line_starts_[line_index(std::min(offset, text_.size()))];
  return text_.substr(start, std::min(text_.find('\n', start), text_.size()) - start);
}

}  // namespace nocturne::tuner
