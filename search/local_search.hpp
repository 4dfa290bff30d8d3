#pragma once

/// Local search with restarts: walk from the best known configuration to a better neighbour until there is none.
///
/// A *descent* begins where the campaign begins (its first told trial, the default) or at a random configuration. Its
/// centre is the best of its trials; neighbours of the centre are asked in random order, adjacent values first, then
/// all values. When the centre has no neighbour left, a random configuration begins the next descent; the best of
/// earlier ones is not lost, the campaign holds it. While neighbours are still out (asked, not told), random
/// configurations fill the time and join no descent unless they beat its centre.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "search/asked_configurations.hpp"
#include "search/strategy.hpp"
#include "space/random.hpp"
#include "space/space.hpp"

namespace nocturne::search {

/// When to move to a better neighbour.
enum class Improvement {
  First,  ///< takes the first better neighbour: fewer trials if the walk is long
  Best,   ///< when all neighbours are told: fewer moves where trials are noisy
};

struct LocalSearchOptions {
  std::uint64_t seed = 1;
  Improvement improvement = Improvement::First;
};

class LocalSearch : public Strategy {
 public:
  LocalSearch(const space::Space& space, LocalSearchOptions options) : space_(space), options_(options) {}
  [[nodiscard]] std::vector<Proposal> ask(std::size_t count) override;
  void tell(std::span<const space::Trial> finished) override;
  void mark_pending(std::span<const space::Configuration> in_flight) override {
    for (const auto& each : in_flight) asked_.insert(each);
  }

  /// Descents begun so far.
  [[nodiscard]] std::size_t descents() const { return descents_; }

 private:
  using Identity = std::string;
  struct Observation {
    space::Configuration configuration;
    std::optional<double> value;  // empty: failed
  };

  std::optional<space::Configuration> propose(space::Random& random);
  std::optional<space::Configuration> begin_descent(space::Random& random);
  void choose_centre();
  void list_neighbours(space::Random& random);
  [[nodiscard]] const Observation* told(const Identity& identity) const;

  const space::Space& space_;
  LocalSearchOptions options_;
  std::uint64_t asks_ = 0;
  std::size_t descents_ = 0;
  AskedConfigurations asked_;
  std::map<Identity, Observation> told_;
  std::set<Identity> descent_;                    // trials of this descent: its start and neighbours asked
  std::optional<Identity> centre_;                // best told of the descent
  std::optional<Identity> listed_;                // the centre whose neighbours are listed
  std::vector<space::Configuration> neighbours_;  // of it, still to be asked, the last one first
  std::set<Identity> awaited_;                    // asked in this descent, not told yet
};

}  // namespace nocturne::search
