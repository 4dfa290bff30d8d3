#pragma once

/// Uniform random search without repetition: the random-search baseline of every other strategy (Bergstra and Bengio,
/// "Random search for hyper-parameter optimization", JMLR 13, 2012).

#include <cstdint>

#include "search/asked_configurations.hpp"
#include "search/strategy.hpp"
#include "space/space.hpp"

namespace nocturne::search {

/// Learns nothing but what not to propose again.
class RandomSearch : public Strategy {
 public:
  RandomSearch(const space::Space& space, std::uint64_t seed) : space_(space), seed_(seed) {}
  [[nodiscard]] std::vector<Proposal> ask(std::size_t count) override;
  void tell(std::span<const space::Trial> finished) override;
  void mark_pending(std::span<const space::Configuration> in_flight) override {
    for (const auto& each : in_flight) asked_.insert(each);
  }

 private:
  const space::Space& space_;
  std::uint64_t seed_;
  std::uint64_t asks_ = 0;
  AskedConfigurations asked_;
};

}  // namespace nocturne::search
