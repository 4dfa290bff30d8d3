#include "tuner/campaign_file/syntax_error.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace nocturne::tuner {
namespace {

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

}  // namespace

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
  problem.excerpt = excerpt_of(cursor.line_text(offset), position.column);
  return problem;
}

}  // namespace nocturne::tuner
