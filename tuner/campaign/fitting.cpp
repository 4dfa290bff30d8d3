#include "tuner/campaign/fitting.hpp"

#include <algorithm>

namespace nocturne::tuner {

std::optional<space::Configuration> fitted(const space::Space& space, const space::Configuration& configuration,
                                           const std::vector<std::string>& kept) {
  if (space.check(configuration).empty()) return configuration;
  for (const auto& parameter : space.parameters()) {
    if (parameter.is_real() || std::ranges::find(kept, parameter.name) != kept.end()) continue;
    for (std::uint64_t i = 0; i < std::min(parameter.size(), kMostFittingValues); ++i) {
      auto other = configuration;
      other.set(parameter.name, parameter.value(i));
      other = space.normalise(other);
      if (space.check(other).empty()) return other;
    }
  }
  return std::nullopt;
}

}  // namespace nocturne::tuner
