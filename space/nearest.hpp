#pragma once

/// "did you mean …?"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace nocturne::space {

/// Smallest number of insertions, deletions, substitutions and swaps of neighbours that turn one into the other.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate most like `name`, or empty where none is (more than a third of the letters differ, at least two).
[[nodiscard]] std::string nearest(std::string_view name, std::span<const std::string> candidates);

/// ", did you mean 'nearest'?" or nothing.
[[nodiscard]] std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

}  // namespace nocturne::space
