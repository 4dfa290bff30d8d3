#pragma once

/// One thing that is wrong with a campaign file, in words the user can act on.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace nocturne::tuner {

struct Problem {
  std::string file{};     ///< as the user named it; of an extended file: its path from there
  std::string pointer{};  ///< RFC 6901 into that file, such as "/space/parameters/2/default"; empty: the whole document
  std::size_t line = 0;   ///< from 1; 0: unknown (the file could not be read)
  std::size_t column = 0;  ///< from 1, in characters
  std::string found{};     ///< what is wrong: "unknown key 'epoch'"
  std::string allowed{};   ///< what may stand there; may be empty
  std::string nearest{};   ///< the known name nearest to what was found; empty: none is near
  std::string excerpt{};   ///< lines of text with a caret below the place; empty where line and pointer say enough
  friend bool operator==(const Problem&, const Problem&) = default;
};

/// "mnist.json:12:7: /budget: unknown key 'wal'; allowed: trials, wall, until. Did you mean 'wall'?", followed by
/// the excerpt, indented. No newline at the end.
[[nodiscard]] std::string to_text(const Problem& problem);

/// The line of text that contains `column` (from 1) and below it a caret; long lines are cut around it, control
/// characters become spaces.
[[nodiscard]] std::string excerpt_of(std::string_view line_text, std::size_t column);

/// All problems, a line or paragraph each, in the order of files and lines.
[[nodiscard]] std::string to_text(std::span<const Problem> problems);

/// All problems of a document that nobody wrote, so without places in it: "the profile: /space: …; and /run: …".
[[nodiscard]] std::string to_sentence(std::span<const Problem> problems);

/// {"file", "pointer", "line", "column", "found", "allowed", "nearest"}; unknown or empty fields are left out.
[[nodiscard]] nlohmann::json to_json(const Problem& problem);

}  // namespace nocturne::tuner
