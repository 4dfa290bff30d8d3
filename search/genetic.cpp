#include "search/genetic.hpp"

#include <algorithm>
#include <utility>

namespace nocturne::search {

namespace {
// A population that has converged breeds what is known: so many children without a new one, and chance takes over.
constexpr int kLitters = 32;
}  // namespace

std::vector<Proposal> Genetic::ask(std::size_t count) {
  space::Random random(options_.seed, asks_++);
  choose_parents();
  return asked_.collect(count, [&] { return propose(random); });
}

void Genetic::tell(std::span<const space::Trial> finished) {
  for (const auto& trial : finished) {
    asked_.insert(trial.configuration);
    auto identity = trial.configuration.identity();
    if (trial.estimate)
      worked_.insert_or_assign(std::move(identity), Individual{trial.configuration, trial.estimate->value});
    else
      worked_.erase(identity);
  }
}

void Genetic::choose_parents() {
  parents_.clear();
  for (const auto& [identity, individual] : worked_) parents_.push_back(&individual);
  std::ranges::stable_sort(parents_, {}, &Individual::value);
  if (parents_.size() > options_.population) parents_.resize(options_.population);
}

std::optional<space::Configuration> Genetic::propose(space::Random& random) {
  if (parents_.size() >= std::max<std::size_t>(options_.population, 2)) {
    for (int litter = 0; litter < kLitters; ++litter)
      if (auto child = breed(random)) return child;
  }
  return asked_.sample_other(space_, random);
}

/// Empty: a child that is invalid or known.
std::optional<space::Configuration> Genetic::breed(space::Random& random) const {
  auto child = cross(parent(random), parent(random), random);
  if (!space_.contains(child)) return std::nullopt;
  // Known ones move on at once: they have nothing else to give.
  while (asked_.contains(child) || random.unit() < options_.mutation) {
    auto neighbours = space_.neighbours(child, space::Reach::Adjacent);
    if (neighbours.empty()) break;
    child = std::move(neighbours[random.below(neighbours.size())]);
    if (random.unit() >= options_.mutation) break;
  }
  if (asked_.contains(child)) return std::nullopt;
  return child;
}

const space::Configuration& Genetic::parent(space::Random& random) const {
  std::size_t winner = parents_.size() - 1;  // they are sorted: the smallest number wins
  for (std::size_t i = 0; i < std::max<std::size_t>(options_.tournament, 1); ++i)
    winner = std::min(winner, static_cast<std::size_t>(random.below(parents_.size())));
  return parents_[winner]->configuration;
}

space::Configuration Genetic::cross(const space::Configuration& mother, const space::Configuration& father,
                                    space::Random& random) const {
  space::Configuration child;
  for (const auto& parameter : space_.parameters()) {
    const bool from_mother = random.below(2) == 0;
    const auto* value = (from_mother ? mother : father).find(parameter.name);
    // Active in one parent only: what the child needs of it is better inherited than set to the default.
    if (value == nullptr) value = (from_mother ? father : mother).find(parameter.name);
    if (value != nullptr) child.set(parameter.name, *value);
  }
  return space_.normalise(child);
}

}  // namespace nocturne::search
