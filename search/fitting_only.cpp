#include "search/fitting_only.hpp"

#include <algorithm>

namespace nocturne::search {

FittingOnly::FittingOnly(const space::Space& space, const Options& options, std::unique_ptr<Strategy> inner)
    : lattice_(space), memory_(lattice_, options.roles.batch, options.memory_limit_bytes), inner_(std::move(inner)) {}

bool FittingOnly::fits(const space::Configuration& configuration) {
  const auto point = lattice_.point_of(configuration);
  return !point || memory_.fits(*point) > 0;
}

std::vector<Proposal> FittingOnly::ask(std::size_t count) {
  std::vector<Proposal> proposals;
  while (proposals.size() < count) {
    auto next = inner_->ask(1);
    if (next.empty()) break;
    auto& place = fits(next[0].configuration) ? proposals : aside_;
    place.push_back(std::move(next[0]));
  }
  while (proposals.size() < count) {
    const auto found = std::ranges::find_if(aside_, [&](const Proposal& each) { return fits(each.configuration); });
    if (found == aside_.end()) break;
    proposals.push_back(std::move(*found));
    aside_.erase(found);
  }
  return proposals;
}

void FittingOnly::tell(std::span<const space::Trial> finished) {
  for (const auto& trial : finished) memory_.tell(trial);
  inner_->tell(finished);
  std::erase_if(aside_, [&](const Proposal& each) {
    return std::ranges::find(finished, each.configuration, &space::Trial::configuration) != finished.end();
  });
}

void FittingOnly::mark_pending(std::span<const space::Configuration> in_flight) {
  inner_->mark_pending(in_flight);
  std::erase_if(aside_, [&](const Proposal& each) {
    return std::ranges::find(in_flight, each.configuration) != in_flight.end();
  });
}

}  // namespace nocturne::search
