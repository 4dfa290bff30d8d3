#include "search/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "search/exhaustive.hpp"
#include "search/fitting_only.hpp"
#include "search/genetic.hpp"
#include "search/local_search.hpp"
#include "search/model_search.hpp"
#include "search/nlopt_search.hpp"
#include "search/pruned_search.hpp"
#include "search/random_search.hpp"
#include "space/nearest.hpp"

namespace nocturne::search {
namespace {

using space::Space;
using Made = std::unique_ptr<Strategy>;

// Fewer than this are measured all: at some seconds each that is a coffee break, and nothing is left to chance.
constexpr std::uint64_t kFew = 64;

Made make_auto(const Space& space, const Options& options) {
  const auto size = space.count();
  if (size.kind == space::Size::Kind::Exact && size.count <= space::Count(kFew)) {
    auto all = std::make_unique<Exhaustive>(space);
    if (options.roles.batch.empty() || options.memory_limit_bytes <= 0) return all;
    return std::make_unique<FittingOnly>(space, options, std::move(all));
  }
  return std::make_unique<PrunedSearch>(space, options);
}

Made make_local(const Space& space, const Options& options, Improvement improvement) {
  return std::make_unique<LocalSearch>(space, LocalSearchOptions{.seed = options.seed, .improvement = improvement});
}

template <NloptMethod kMethod>
Made make_nlopt(const Space& space, const Options& options) {
  return std::make_unique<NloptSearch>(space, NloptSearchOptions{.seed = options.seed, .method = kMethod});
}

constexpr auto kStrategies = std::to_array<StrategyEntry>({
    {"auto", "The linear model's largest expected improvement; all of a space of up to 64 configurations.", make_auto,
     true},
    {"model", "As auto, but nothing is pruned, audited or walked through: to judge what that costs.",
     [](const Space& space, const Options& options) -> Made { return std::make_unique<ModelSearch>(space, options); },
     true},
    {"random", "Draws uniformly from the valid configurations, none twice.",
     [](const Space& space, const Options& options) -> Made {
       return std::make_unique<RandomSearch>(space, options.seed);
     }},
    {"exhaustive", "Walks through all valid configurations; what is expensive to prepare changes last.",
     [](const Space& space, const Options&) -> Made { return std::make_unique<Exhaustive>(space); }},
    {"local", "Moves to the first better neighbour; restarts at random where there is none.",
     [](const Space& space, const Options& options) { return make_local(space, options, Improvement::First); }},
    {"local-best", "As local, but tries all neighbours before it moves to the best of them.",
     [](const Space& space, const Options& options) { return make_local(space, options, Improvement::Best); }},
    {"genetic", "Breeds children of the best twenty: tournaments, uniform crossover, mutation to neighbours.",
     [](const Space& space, const Options& options) -> Made {
       return std::make_unique<Genetic>(space, GeneticOptions{.seed = options.seed});
     }},
    {"nlopt-cobyla", "NLopt: linear approximations in a trust region, with restarts.", make_nlopt<NloptMethod::Cobyla>},
    {"nlopt-neldermead", "NLopt: the simplex of Nelder and Mead, with restarts.", make_nlopt<NloptMethod::NelderMead>},
    {"nlopt-sbplx", "NLopt: simplexes on subspaces, with restarts.", make_nlopt<NloptMethod::Sbplx>},
    {"nlopt-crs", "NLopt: controlled random search with local mutation.", make_nlopt<NloptMethod::Crs>},
    {"nlopt-direct", "NLopt: divides the space into rectangles, the promising ones first.",
     make_nlopt<NloptMethod::Direct>},
    {"nlopt-esch", "NLopt: an evolution strategy.", make_nlopt<NloptMethod::Esch>},
});

}  // namespace

std::span<const StrategyEntry> strategies() {
  return kStrategies;
}

bool uses_history(std::string_view name) {
  return std::ranges::any_of(kStrategies,
                             [&](const StrategyEntry& each) { return each.name == name && each.uses_history; });
}

std::expected<std::unique_ptr<Strategy>, std::string> make_strategy(std::string_view name, const space::Space& space,
                                                                    const Options& options) {
  std::vector<std::string> names;
  std::string list;
  for (const auto& entry : kStrategies) {
    if (entry.name == name) return entry.make(space, options);
    names.emplace_back(entry.name);
    list += (list.empty() ? "" : ", ") + names.back();
  }
  return std::unexpected(
      fmt::format("unknown strategy '{}'{} (there are: {})", name, space::did_you_mean(name, names), list));
}

}  // namespace nocturne::search
