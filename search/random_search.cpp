#include "search/random_search.hpp"

#include "space/random.hpp"

namespace nocturne::search {

std::vector<space::Configuration> RandomSearch::ask(std::size_t count) {
  space::Random random(seed_, asks_++);
  std::vector<space::Configuration> proposed;
  while (proposed.size() < count) {
    auto configuration = known_.sample_other(space_, random);
    if (!configuration) break;
    known_.insert(*configuration);
    proposed.push_back(std::move(*configuration));
  }
  return proposed;
}

void RandomSearch::tell(std::span<const space::Trial> finished) {
  for (const space::Trial& trial : finished) known_.insert(trial.configuration);
}

}  // namespace nocturne::search
