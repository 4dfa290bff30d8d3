#include "search/random_search.hpp"

namespace nocturne::search {

std::vector<Proposal> RandomSearch::ask(std::size_t count) {
  space::Random random(seed_, asks_++);
  std::vector<Proposal> proposals;
  while (proposals.size() < count) {
    auto next = asked_.sample_other(space_, random);
    if (!next) break;
    asked_.insert(*next);
    proposals.push_back({.configuration = std::move(*next)});
  }
  return proposals;
}

void RandomSearch::tell(std::span<const space::Trial> finished) {
  for (const auto& trial : finished) asked_.insert(trial.configuration);
}

}  // namespace nocturne::search
