#include "search/asked_configurations.hpp"

#include <string>
#include <utility>

#include "space/value.hpp"

namespace nocturne::search {

namespace {
// So many draws in a row that were all seen before happen by chance (once in 10¹⁰) only where more than two thirds of
// the space are seen; a space that is nearly used up is small enough to be walked through.
constexpr int kDraws = 64;
// What is wanted may be rare in a space that is not nearly used up: the walk takes a second or two at most.
constexpr std::uint64_t kMostWalked = 1'000'000;
// Where chance finds nothing valid, a walk may go through all combinations without meeting a valid one: some seconds.
constexpr double kMostCombinations = 10'000'000;

/// That a walk may have to go through.
double combinations_of(const space::Space& space) {
  double combinations = space.cardinality().approximate;
  for (const auto& parameter : space.parameters())
    if (parameter.is_real()) combinations *= static_cast<double>(space::Space::kRealGrid);
  return combinations;
}
}  // namespace

std::size_t ConfigurationHash::operator()(const space::Configuration& configuration) const noexcept {
  constexpr std::size_t kFactor = 0x9e3779b97f4a7c15;  // 2^64 divided by the golden ratio
  std::size_t hash = 0;
  for (const auto& [name, value] : configuration.values()) {
    hash = (hash ^ std::hash<std::string>()(name)) * kFactor;
    hash = (hash ^ std::hash<space::Value>()(value)) * kFactor;
  }
  return hash;
}

std::vector<Proposal> AskedConfigurations::collect(
    std::size_t count, const std::function<std::optional<space::Configuration>()>& propose) {
  std::vector<Proposal> proposals;
  while (proposals.size() < count) {
    auto next = propose();
    if (!next) break;
    insert(*next);
    proposals.push_back({.configuration = std::move(*next)});
  }
  return proposals;
}

std::optional<space::Configuration> AskedConfigurations::sample_other(const space::Space& space, space::Random& random,
                                                                      const Filter& wanted) const {
  const auto is_open = [&](const space::Configuration& each) { return !contains(each) && (!wanted || wanted(each)); };
  for (int i = 0; i < kDraws; ++i) {
    auto drawn = space.sample(random);
    if (!drawn) {
      if (combinations_of(space) > kMostCombinations) return std::nullopt;
      break;
    }
    if (is_open(*drawn)) return drawn;
  }
  // Reservoir of one: the n-th that is left replaces the choice with probability 1/n.
  std::optional<space::Configuration> chosen;
  std::uint64_t left = 0;
  std::uint64_t walked = 0;
  space.for_each([&](const space::Configuration& configuration) {
    if (is_open(configuration) && random.below(++left) == 0) chosen = configuration;
    return !wanted || ++walked < kMostWalked;
  });
  return chosen;
}

}  // namespace nocturne::search
