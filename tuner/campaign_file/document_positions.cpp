#include "tuner/campaign_file/document_positions.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tuner/campaign_file/text_cursor.hpp"

namespace nocturne::tuner {
namespace {

using Json = nlohmann::json;

struct SyntaxFailure {
  std::string_view message;  ///< message of the parser's exception
  std::size_t bytes_read;    ///< by the parser when it gave up
  std::string pointer;       ///< points at the innermost value that was open
  std::size_t opened_at;     ///< offset of the innermost bracket that is not closed; npos: none is open
};

/// The part of "[json.exception…] parse error at …: syntax error while parsing value - WHAT; last read: '…'; expected
/// Y".
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t start = text.find(before);
  if (start == std::string_view::npos) return {};
  text.remove_prefix(start + before.size());
  return text.substr(0, text.find(after));
}

/// Where the offending token begins, and what stands before it.
struct Offence {
  std::size_t offset;
  char separator_before;      ///< ',' or ':' or 0
  bool inside_value = false;  ///< the parser saw two values where the cursor saw one word: 01, truefalse
};

Offence find_offence(const SyntaxFailure& failure, TextCursor& cursor, std::string_view text) {
  const std::size_t bytes_read = failure.bytes_read;
  // The parser stopped inside what the cursor took for one word.
  if (bytes_read <= cursor.offset() && bytes_read > 0) {
    const std::size_t before = text.substr(0, bytes_read).find_last_of(" \t\r\n,:{}[]\"/");
    return {before == std::string_view::npos ? 0 : before + 1, '\0', true};
  }
  char separator = 0;
  while (true) {
    const std::size_t start = cursor.next_token_or_separator();
    if (start >= text.size() || cursor.offset() >= bytes_read) return {start, separator, false};
    separator = text[start] == ',' || text[start] == ':' ? text[start] : '\0';
  }
}

std::string expected_words(std::string_view expected) {
  if (expected == "string literal") return "a key in double quotes";
  if (expected == "'[', '{', or a literal") return "a value: \"text\", a number, true, false, null, [ or {";
  if (expected == "']'") return "',' or ']'";
  if (expected == "'}'") return "',' or '}'";
  if (expected == "end of input") return "nothing but comments";
  return std::string(expected);
}

std::string word_at(std::string_view text, std::size_t offset) {
  const std::string_view rest = text.substr(offset, 30);
  std::size_t end = rest.find_first_of(" \t\r\n,:{}[]\"/", 1);
  if (rest.starts_with('"')) end = std::min(rest.find('"', 1), rest.size() - 1) + 1;
  std::string word(rest.substr(0, end));
  // The file may hold anything, and this goes to a terminal.
  std::ranges::replace_if(word, [](char c) { return c < ' ' || c > '~'; }, '?');
  return word;
}

void explain_invalid_literal(Problem& problem, std::string_view text, std::size_t offset) {
  const std::string word = word_at(text, offset);
  problem.found = fmt::format("'{}' is not JSON", word);
  problem.allowed = expected_words("'[', '{', or a literal");
  if (word.starts_with('\'')) {
    problem.found = "text in single quotes";
    problem.allowed = "double quotes";
  } else if (word.starts_with('#')) {
    problem.found = "'#' does not begin a comment";
    problem.allowed = "// to the end of the line, or /* ... */";
    // Words of Python and of other notations that people write here.
  } else if (word == "True" || word == "False") {
    problem.nearest = word == "True" ? "true" : "false";
  } else if (word == "None" || word == "nil" || word == "NULL") {
    problem.nearest = "null";
  } else if (word[0] == '.' || word[0] == '+') {
    problem.allowed = "a number that begins with a digit or a minus sign";
  }
}

void explain_end(Problem& problem, const SyntaxFailure& failure, const TextCursor& cursor, std::string_view text) {
  problem.found =
      text.find_first_not_of(" \t\r\n") == std::string_view::npos ? "the file is empty" : "the file ends too early";
  if (failure.opened_at != std::string_view::npos) {
    const LineColumn opened = cursor.position(failure.opened_at);
    problem.found += fmt::format(": the '{}' of line {}, column {} is not closed", text[failure.opened_at], opened.line,
                                 opened.column);
  } else {
    problem.allowed = "one object in braces";
  }
}

/// Turns the JSON parser's message into the words of the user who looks at the line. `cursor` stands behind the last
/// token that the parser reported. `text` is what it walks.
Problem syntax_problem(const SyntaxFailure& failure, TextCursor cursor, std::string_view text,
                       const std::string& file) {
  const std::size_t behind_last_token = cursor.offset();
  const Offence offence = find_offence(failure, cursor, text);
  std::size_t offset = offence.offset;
  Problem problem{.file = file, .pointer = failure.pointer};

  const std::string_view unexpected = between(failure.message, "unexpected ", ";");
  const std::string_view what = between(failure.message, " - ", "; last read");
  const std::string_view expected = between(failure.message, "; expected ", "\n");
  if (unexpected == "end of input") {
    explain_end(problem, failure, cursor, text);
  } else if (offence.inside_value) {
    explain_invalid_literal(problem, text, offset);
  } else if (!unexpected.empty() && offset < text.size()) {
    if (offence.separator_before == ',' && (text[offset] == '}' || text[offset] == ']')) {
      problem.found = fmt::format("a comma before '{}'", text[offset]);
      problem.allowed = "a comma only between two entries";
    } else {
      problem.found =
          fmt::format("unexpected {}{}", word_at(text, offset), offence.inside_value ? " directly behind a value" : "");
      problem.allowed = expected_words(expected);
      if (text[offset] == '"' && (expected == "']'" || expected == "'}'"))
        problem.found += " (is a comma missing before it?)";
    }
  } else if (what == "invalid literal") {
    explain_invalid_literal(problem, text, std::min(offset, text.empty() ? 0 : text.size() - 1));
  } else if (what.find("U+000A") != std::string_view::npos ||
             what.find("missing closing quote") != std::string_view::npos) {
    problem.found = "a text that is not closed on its line";
    problem.allowed = "a closing '\"'; a line break inside a text is written \\n";
  } else if (!what.empty()) {
    if (what.find("closing '*/'") != std::string_view::npos) offset = text.find("/*", behind_last_token);
    if (what.starts_with("invalid string")) offset = failure.bytes_read > 0 ? failure.bytes_read - 1 : 0;
    problem.found = std::string(what);
  } else {
    problem.found = std::string(between(failure.message, "] ", "\n"));
  }
  const LineColumn position = cursor.position(offset);
  problem.line = position.line;
  problem.column = position.column;
  // Of an empty file there is nothing to show.
  if (text.find_first_not_of(" \t\r\n") != std::string_view::npos)
    problem.excerpt = excerpt_of(cursor.line_text(offset), position.column);
  return problem;
}

/// Builds the value and its places from the parser's events; each event is one token, which the cursor steps over.
class PlacingReader final : public nlohmann::json_sax<Json> {
 public:
  PlacingReader(std::string_view text, std::string file) : text_(text), file_(std::move(file)), cursor_(text) {}

  bool null() override { return value(nullptr); }
  bool boolean(bool v) override { return value(v); }
  bool number_integer(std::int64_t v) override { return value(v); }
  bool number_unsigned(std::uint64_t v) override { return value(v); }
  bool number_float(double v, const std::string&) override { return value(v); }
  bool string(std::string& v) override { return short_enough(v) && value(std::move(v)); }
  bool binary(Json::binary_t&) override { return false; }  // JSON text has none
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    OpenContainer& object = open_.back();
    const std::size_t offset = cursor_.next_token();
    if (!short_enough(name)) return false;
    object.key = name;
    object.key_offset = offset;
    const std::string pointer = pointer_to(object.pointer, name);
    if (const auto earlier = document_.places.find(pointer); earlier != document_.places.end()) {
      refuse(offset, pointer,
             fmt::format("key {} stands here for the second time; first on line {}", shown(name),
                         earlier->second.key_line),
             "each key once");
    }
    return true;
  }

  bool parse_error(std::size_t bytes_read, const std::string&, const Json::exception& error) override {
    problems_.push_back(syntax_problem({.message = error.what(),
                                        .bytes_read = bytes_read,
                                        .pointer = open_.empty() ? "" : open_.back().pointer,
                                        .opened_at = open_.empty() ? std::string_view::npos : open_.back().offset},
                                       cursor_, text_, file_));
    return false;
  }

  std::expected<Document, std::vector<Problem>> result() {
    if (!problems_.empty()) return std::unexpected(std::move(problems_));
    return std::move(document_);
  }

 private:
  struct OpenContainer {
    Json* container;
    std::string pointer;
    std::size_t offset;  ///< where its bracket stands
    std::string key{};   ///< last key read, of an object
    std::size_t key_offset = 0;
  };

  /// Puts `v` where it belongs and notes its place; null where the document grows too large.
  Json* place(Json v, std::size_t offset) {
    if (document_.places.size() >= kMostValues) {
      refuse(offset, open_.back().pointer, fmt::format("more than {} values", kMostValues), "a smaller file");
      return nullptr;
    }
    Json* target = &document_.value;
    std::string pointer;
    std::size_t key_offset = offset;
    if (!open_.empty() && open_.back().container->is_array()) {
      Json& array = *open_.back().container;
      pointer = pointer_to(open_.back().pointer, array.size());
      array.push_back(std::move(v));
      target = &array.back();
    } else if (!open_.empty()) {
      pointer = pointer_to(open_.back().pointer, open_.back().key);
      key_offset = open_.back().key_offset;
      target = &(*open_.back().container)[open_.back().key];
      *target = std::move(v);
    } else {
      *target = std::move(v);
    }
    const LineColumn at = cursor_.position(offset), key_at = cursor_.position(key_offset);
    document_.places.insert_or_assign(pointer, Place{file_, pointer, at.line, at.column, key_at.line, key_at.column});
    last_pointer_ = std::move(pointer);
    return target;
  }

  bool value(Json v) { return place(std::move(v), cursor_.next_token()) != nullptr; }

  bool open(Json container) {
    const std::size_t offset = cursor_.next_token();
    if (open_.size() >= kDeepestNesting) {
      refuse(offset, open_.back().pointer, fmt::format("more than {} brackets inside each other", kDeepestNesting), {});
      return false;
    }
    Json* const placed = place(std::move(container), offset);
    if (placed == nullptr) return false;
    open_.push_back({.container = placed, .pointer = last_pointer_, .offset = offset});
    return true;
  }

  bool close() {
    cursor_.next_token();
    open_.pop_back();
    return true;
  }

  bool short_enough(const std::string& text) {
    if (text.size() <= kLongestStringBytes) return true;
    // A copy looks ahead: the cursor itself steps over the token when the value is placed.
    TextCursor ahead = cursor_;
    refuse(ahead.next_token(), open_.empty() ? "" : open_.back().pointer,
           fmt::format("a text of {} bytes", text.size()), fmt::format("at most {} bytes", kLongestStringBytes));
    return false;
  }

  void refuse(std::size_t offset, const std::string& pointer, std::string found, std::string allowed) {
    const LineColumn at = cursor_.position(offset);
    problems_.push_back({.file = file_,
                         .pointer = pointer,
                         .line = at.line,
                         .column = at.column,
                         .found = std::move(found),
                         .allowed = std::move(allowed)});
  }

  std::string_view text_;
  std::string file_;
  TextCursor cursor_;
  Document document_;
  std::vector<OpenContainer> open_;
  std::string last_pointer_;
  std::vector<Problem> problems_;
};

}  // namespace

const Place& Document::place(std::string_view pointer) const {
  static const Place nowhere;
  while (true) {
    if (const auto found = places.find(std::string(pointer)); found != places.end()) return found->second;
    if (pointer.empty()) return nowhere;
    // What is missing has no place of its own: its nearest parent has.
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
    // JSON Pointer (RFC 6901) escapes just these two.
    if (c == '~')
      pointer += "~0";
    else if (c == '/')
      pointer += "~1";
    else
      pointer += c;
  }
  return pointer;
}

std::string pointer_to(std::string_view parent, std::size_t index) {
  return fmt::format("{}/{}", parent, index);
}

std::string shown(const nlohmann::json& value) {
  constexpr std::size_t kLongest = 60;
  // In a sentence a long value would hide what is said about it.
  if (value.is_object() && value.size() > 2) return fmt::format("an object of {} keys", value.size());
  if (value.is_array() && value.size() > 6) return fmt::format("a list of {} values", value.size());
  // ensure_ascii: no control character and no half of a UTF-8 sequence can reach a terminal.
  std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest - 3) + "...";
  return text;
}

std::expected<Document, std::vector<Problem>> read_document(std::string_view text, const std::string& file) {
  const auto refused = [&](std::string found, std::string allowed) {
    return std::unexpected(
        std::vector{Problem{.file = file, .found = std::move(found), .allowed = std::move(allowed)}});
  };
  if (text.size() > kLargestFileBytes)
    return refused("the file is too large", fmt::format("at most {} bytes", kLargestFileBytes));
  // The parser takes a zero byte for the end of the text and would not see what stands behind it.
  if (text.find('\0') != std::string_view::npos) return refused("the file contains a zero byte", "text in UTF-8");
  PlacingReader reader(text, file);
  Json::sax_parse(text.begin(), text.end(), &reader, nlohmann::detail::input_format_t::json, true, true);
  return reader.result();
}

}  // namespace nocturne::tuner
