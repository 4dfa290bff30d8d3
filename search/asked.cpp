#include "search/asked.hpp"

#include <utility>

namespace nocturne::search {

namespace {
// So many draws in a row that were all seen before happen by chance (once in 10¹⁰) only where more than two thirds of
// the space are seen; a space that is nearly used up is small enough to be walked through.
constexpr int kDraws = 64;
}  // namespace

std::vector<Proposal> Asked::collect(std::size_t count,
                                     const std::function<std::optional<space::Configuration>()>& propose) {
  std::vector<Proposal> proposals;
  while (proposals.size() < count) {
    auto next = propose();
    if (!next) break;
    insert(*next);
    proposals.push_back({.configuration = std::move(*next)});
  }
  return proposals;
}

std::optional<space::Configuration> Asked::sample_other(const space::Space& space, space::Random& random) const {
  for (int i = 0; i < kDraws; ++i) {
    auto drawn = space.sample(random);
    if (!drawn) break;
    if (!contains(*drawn)) return drawn;
  }
  // Reservoir of one: the n-th that is left replaces the choice with probability 1/n.
  std::optional<space::Configuration> chosen;
  std::uint64_t left = 0;
  space.for_each([&](const space::Configuration& configuration) {
    if (!contains(configuration) && random.below(++left) == 0) chosen = configuration;
    return true;
  });
  return chosen;
}

}  // namespace nocturne::search
