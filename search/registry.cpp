#include "search/registry.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "search/exhaustive.hpp"
#include "search/local_search.hpp"
#include "search/random_search.hpp"
#include "space/nearest.hpp"

namespace nocturne::search {
namespace {

constexpr std::array kStrategies = {
    StrategyEntry{"local", "walks to better neighbours, and jumps away from where none is better",
                  [](const space::Space& space, const Options& options) -> std::unique_ptr<Strategy> {
                    return std::make_unique<LocalSearch>(space, options.seed);
                  }},
    StrategyEntry{"random", "uniform over the valid configurations: the baseline",
                  [](const space::Space& space, const Options& options) -> std::unique_ptr<Strategy> {
                    return std::make_unique<RandomSearch>(space, options.seed);
                  }},
    StrategyEntry{"exhaustive", "every valid configuration once, builds changing last",
                  [](const space::Space& space, const Options&) -> std::unique_ptr<Strategy> {
                    return std::make_unique<Exhaustive>(space);
                  }},
};

}  // namespace

std::span<const StrategyEntry> strategies() {
  return kStrategies;
}

std::expected<std::unique_ptr<Strategy>, std::string> make_strategy(std::string_view name, const space::Space& space,
                                                                    const Options& options) {
  const auto found = std::ranges::find(kStrategies, name, &StrategyEntry::name);
  if (found != kStrategies.end()) return found->make(space, options);
  std::vector<std::string> names;
  for (const StrategyEntry& entry : kStrategies) names.emplace_back(entry.name);
  return std::unexpected(fmt::format("unknown strategy '{}'{}; there are: {}", name, space::did_you_mean(name, names),
                                     fmt::join(names, ", ")));
}

}  // namespace nocturne::search
