#pragma once

/// "unknown verb 'tnue', did you mean 'tune'?"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace nocturne::cli {

/// Edits (insert, delete, replace, swap two neighbours) that turn one word into the other: optimal string alignment,
/// the restricted form of Damerau (Commun. ACM 7(3), 1964, pp. 171-176).
[[nodiscard]] std::size_t edit_distance(std::string_view left, std::string_view right);

/// The candidate with the fewest edits, if that is at most a third of the word's length (at least one); the first on a
/// tie.
[[nodiscard]] std::optional<std::string> nearest_name(std::string_view word, std::span<const std::string> candidates);

}  // namespace nocturne::cli
