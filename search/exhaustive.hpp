#pragma once

/// Every valid configuration once, in the order of Space::enumerate(): what is expensive to prepare changes last.

#include "search/asked_configurations.hpp"
#include "search/strategy.hpp"
#include "space/space.hpp"

namespace nocturne::search {

/// Draws nothing; real ranges are walked on a grid.
class Exhaustive : public Strategy {
 public:
  explicit Exhaustive(const space::Space& space) : rest_(space.enumerate()) {}
  [[nodiscard]] std::vector<Proposal> ask(std::size_t count) override;
  void tell(std::span<const space::Trial> finished) override;
  void mark_pending(std::span<const space::Configuration> in_flight) override {
    for (const auto& each : in_flight) told_.insert(each);
  }

 private:
  space::Enumerator rest_;
  AskedConfigurations told_;
};

}  // namespace nocturne::search
