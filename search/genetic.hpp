#pragma once

/// Genetic search: children of good configurations, each proposed once.
///
/// Steady state, "mu plus lambda": the parents are always the best `population` of all that was told, so the elite is
/// never lost. Until as many have worked, configurations are drawn at random. A child takes each parameter's value from
/// one of two parents (uniform crossover; Syswerda, "Uniform crossover in genetic algorithms", ICGA 1989), who win
/// tournaments of `tournament` each; Space::normalise() repairs what is active; now and then it moves to a neighbour
/// (mutation). A child that is invalid or known is bred again; when that fails too often, a random one takes its place.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "search/asked_configurations.hpp"
#include "search/strategy.hpp"
#include "space/random.hpp"
#include "space/space.hpp"

namespace nocturne::search {

struct GeneticOptions {
  std::uint64_t seed = 1;
  std::size_t population = 20;  ///< parents; at least 2
  std::size_t tournament = 3;   ///< drawn for each parent, the best of them becomes it; at least 1
  double mutation = 0.5;        ///< probability that a child moves to a neighbour, again and again while it comes true
};

class Genetic : public Strategy {
 public:
  Genetic(const space::Space& space, GeneticOptions options) : space_(space), options_(options) {}
  [[nodiscard]] std::vector<Proposal> ask(std::size_t count) override;
  void tell(std::span<const space::Trial> finished) override;
  void mark_pending(std::span<const space::Configuration> in_flight) override {
    for (const auto& each : in_flight) asked_.insert(each);
  }

 private:
  struct Individual {
    space::Configuration configuration;
    double value = 0;
  };

  std::optional<space::Configuration> propose(space::Random& random);
  std::optional<space::Configuration> breed(space::Random& random) const;
  [[nodiscard]] const space::Configuration& parent(space::Random& random) const;
  [[nodiscard]] space::Configuration cross(const space::Configuration& mother, const space::Configuration& father,
                                           space::Random& random) const;
  void choose_parents();

  const space::Space& space_;
  GeneticOptions options_;
  std::uint64_t asks_ = 0;
  AskedConfigurations asked_;
  std::map<std::string, Individual> worked_;  // by identity; ordered, so that ties are always broken alike
  std::vector<const Individual*> parents_;    // best first
};

}  // namespace nocturne::search
