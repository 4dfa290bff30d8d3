#include "space/nearest.hpp"

#include <algorithm>
#include <vector>

namespace nocturne::space {

// Optimal string alignment: the Levenshtein recurrence with one more case for swapped neighbours, on three rows.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string nearest(std::string_view name, std::span<const std::string> candidates) {
  if (name.size() > 128) return {};  // no name of ours; distances of long texts cost their product
  std::size_t best = std::max<std::size_t>(2, name.size() / 3) + 1;
  std::string_view found;
  for (const auto& candidate : candidates) {
    if (candidate.size() > 128) continue;
    // Two differences in a name of two letters are another name.
    const auto distance = edit_distance(name, candidate);
    if (distance < best && distance < std::max(name.size(), candidate.size())) {
      best = distance;
      found = candidate;
    }
  }
  return std::string(found);
}

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  const auto found = nearest(name, candidates);
  return found.empty() ? "" : ", did you mean '" + found + "'?";
}

}  // namespace nocturne::space
