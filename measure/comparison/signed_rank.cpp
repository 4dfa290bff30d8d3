#include "measure/comparison/signed_rank.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "measure/comparison/location.hpp"

namespace nocturne::measure {
namespace {

/// How many of the means lie outside, at each end, of an interval with this confidence at least; 0: none may.
std::size_t left_out(std::size_t count, double confidence) {
  const std::size_t most = count * (count + 1) / 2;
  // Probability of each sum of ranks: rank by rank, which has either sign.
  std::vector<double> probability(most + 1, 0);
  probability[0] = 1;
  for (std::size_t rank = 1; rank <= count; ++rank)
    for (std::size_t sum = most + 1; sum-- > 0;)
      probability[sum] = (probability[sum] + (sum >= rank ? probability[sum - rank] : 0)) / 2;
  double below = 0;
  std::size_t sums = 0;
  while (sums <= most && 2 * (below + probability[sums]) <= 1 - confidence) below += probability[sums++];
  return sums;
}

}  // namespace

std::optional<SignedRankInterval> signed_rank_interval(std::span<const double> values, double confidence) {
  const std::size_t out = left_out(values.size(), confidence);
  if (out == 0) return std::nullopt;
  std::vector<double> means;
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t j = i; j < values.size(); ++j) means.push_back((values[i] + values[j]) / 2);
  std::ranges::sort(means);
  return SignedRankInterval{.middle = median(means), .low = means[out - 1], .high = means[means.size() - out]};
}

}  // namespace nocturne::measure
