#include "search/replay/csv_table.hpp"

#include <algorithm>

namespace nocturne::search::replay {

bool CsvReader::next() {
  fields_.clear();
  unescaped_.clear();
  while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) lines_ += text_[at_++] == '\n' ? 1U : 0U;
  line_ = lines_;
  if (at_ >= text_.size()) return false;
  while (true) {
    if (at_ < text_.size() && text_[at_] == '"') {
      fields_.push_back(quoted_field());
    } else {
      const auto end = std::min(text_.find_first_of(",\n", at_), text_.size());
      auto field = text_.substr(at_, end - at_);
      if (field.ends_with('\r')) field.remove_suffix(1);
      fields_.push_back(field);
      at_ = end;
    }
    if (at_ >= text_.size() || text_[at_] != ',') break;
    ++at_;
  }
  return true;
}

std::string_view CsvReader::quoted_field() {
  const auto begin = ++at_;
  bool escaped = false;
  while (true) {
    const auto quote = text_.find('"', at_);
    if (quote == std::string_view::npos) {
      torn_ = true;
      at_ = text_.size();
      return text_.substr(begin);
    }
    at_ = quote + 1;
    if (at_ >= text_.size() || text_[at_] != '"') break;
    escaped = true;
    ++at_;
  }
  const auto inside = text_.substr(begin, at_ - 1 - begin);
  lines_ += static_cast<std::size_t>(std::ranges::count(inside, '\n'));
  // What follows a closing quote, up to the comma, belongs to nothing.
  at_ = std::min(text_.find_first_of(",\n", at_), text_.size());
  if (!escaped) return inside;
  auto& plain = *unescaped_.emplace_back(std::make_unique<std::string>());
  for (std::size_t i = 0; i < inside.size(); ++i) {
    plain += inside[i];
    if (inside[i] == '"') ++i;
  }
  return plain;
}

}  // namespace nocturne::search::replay
