#include "search/random_search.hpp"

namespace nocturne::search {

std::vector<space::Configuration> RandomSearch::ask(std::size_t count) {
  space::Random random(seed_, asks_++);
  std::vector<space::Configuration> proposals;
  while (proposals.size() < count) {
    auto next = asked_.sample_other(space_, random);
    if (!next) break;
    asked_.insert(*next);
    proposals.push_back(std::move(*next));
  }
  return proposals;
}

void RandomSearch::tell(std::span<const space::Trial> finished) {
  for (const auto& trial : finished) asked_.insert(trial.configuration);
}

}  // namespace nocturne::search
