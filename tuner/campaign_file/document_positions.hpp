#pragma once

/// A JSON text read with its positions: which line and column each value came from.
///
/// The library's parser reads the text and reports what it meets; a cursor walks the same text token by token beside
/// it, so that each report has a place. Comments are allowed, duplicate keys are problems, and what is too large, too
/// deep or too long is refused before it costs anything.

#include <cstddef>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "tuner/campaign_file/problem.hpp"

namespace nocturne::tuner {

inline constexpr std::size_t kLargestFileBytes = 1 << 20;  ///< a campaign of 500 parameters takes 100 KiB
inline constexpr std::size_t kDeepestNesting = 32;         ///< the schema needs 6; a strategy's options are its own
inline constexpr std::size_t kLongestStringBytes = 4096;   ///< std::regex recurses once a character: far below its end
inline constexpr std::size_t kMostValues = 50'000;

/// RFC 6901: where a campaign file lists its parameters.
inline constexpr std::string_view kParametersPointer = "/space/parameters";

/// Where a value stands. Lines and columns count from 1, columns in characters.
struct Place {
  std::string file;
  std::string pointer;                       ///< in that file
  std::size_t line = 0, column = 0;          ///< where the value begins
  std::size_t key_line = 0, key_column = 0;  ///< where its key begins; the value, where it has none
};

struct Document {
  nlohmann::json value;
  std::map<std::string, Place> places;  ///< by JSON pointer into `value`

  /// The place of the value at `pointer`, else of the nearest value that contains it.
  [[nodiscard]] const Place& place(std::string_view pointer) const;
};

/// Which of a value's two places a problem points at.
enum class At { Value, Key };

/// A problem at `pointer` of `document`, its file and position filled in.
[[nodiscard]] Problem problem_at(const Document& document, std::string_view pointer, At at, std::string found,
                                 std::string allowed = {}, std::string nearest = {});

/// Reads one text; `file` names it in problems. An error of syntax ends the reading, so it comes alone or last.
[[nodiscard]] std::expected<Document, std::vector<Problem>> read_document(std::string_view text,
                                                                          const std::string& file);

/// "/a" and "b/c" give "/a/b~1c".
[[nodiscard]] std::string pointer_to(std::string_view parent, std::string_view key);
[[nodiscard]] std::string pointer_to(std::string_view parent, std::size_t index);

/// A JSON value as a message shows it: at most 60 bytes, no control characters, an array or object by its beginning.
[[nodiscard]] std::string shown(const nlohmann::json& value);

}  // namespace nocturne::tuner
