#include "tuner/campaign_file/document_positions.hpp"

#include <fmt/format.h>

namespace nocturne::tuner {

const Place& Document::place(std::string_view pointer) const {
  static const Place nowhere;
  while (true) {
    if (const auto found = places.find(std::string(pointer)); found != places.end()) return found->second;
    if (pointer.empty()) return nowhere;
    pointer = pointer.substr(0, pointer.rfind('/'));
  }
}

Problem problem_at(const Document& document, std::string_view pointer, At at, std::string found, std::string allowed,
                   std::string nearest) {
  const Place& place = document.place(pointer);
  const bool exact = document.places.contains(std::string(pointer));
  return {.file = place.file,
          .pointer = exact ? place.pointer : std::string(pointer),
          .line = at == At::Key ? place.key_line : place.line,
          .column = at == At::Key ? place.key_column : place.column,
          .found = std::move(found),
          .allowed = std::move(allowed),
          .nearest = std::move(nearest)};
}

std::string pointer_to(std::string_view parent, std::string_view key) {
  std::string pointer(parent);
  pointer += '/';
  for (const char c : key) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
  return pointer;
}

std::string pointer_to(std::string_view parent, std::size_t index) {
  return fmt::format("{}/{}", parent, index);
}

std::string shown(const nlohmann::json& value) {
  constexpr std::size_t kLongest = 60;
  if (value.is_object() && value.size() > 2) return fmt::format("an object of {} keys", value.size());
  if (value.is_array() && value.size() > 6) return fmt::format("a list of {} values", value.size());
  // ensure_ascii: no control character and no half of a UTF-8 sequence can reach a terminal.
  std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest - 3) + "...";
  return text;
}

}  // namespace nocturne::tuner
