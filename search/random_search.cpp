#include "search/random_search.hpp"

namespace nocturne::search {

std::vector<Proposal> RandomSearch::ask(std::size_t count) {
  space::Random random(seed_, asks_++);
  return asked_.collect(count, [&] { return asked_.sample_other(space_, random); });
}

void RandomSearch::tell(std::span<const space::Trial> finished) {
  for (const auto& trial : finished) asked_.insert(trial.configuration);
}

}  // namespace nocturne::search
