#include "search/exhaustive.hpp"

namespace nocturne::search {

std::vector<Proposal> Exhaustive::ask(std::size_t count) {
  std::vector<Proposal> proposals;
  while (proposals.size() < count) {
    auto next = rest_.next();
    if (!next) break;
    if (!told_.contains(*next)) proposals.push_back({.configuration = std::move(*next)});
  }
  return proposals;
}

void Exhaustive::tell(std::span<const space::Trial> finished) {
  for (const auto& trial : finished) told_.insert(trial.configuration);
}

}  // namespace nocturne::search
