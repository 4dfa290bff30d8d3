#pragma once

/// A strategy without what cannot fit into memory, for one that walks through everything.
///
/// What does not fit by what is known (memory_guard.hpp) is put aside, and comes last: where more has been learnt by
/// then and it may fit after all. The rest of it is never proposed.

#include <memory>
#include <span>
#include <vector>

#include "search/memory_guard.hpp"
#include "search/registry.hpp"
#include "search/strategy.hpp"
#include "space/lattice.hpp"
#include "space/space.hpp"

namespace nocturne::search {

class FittingOnly : public Strategy {
 public:
  /// Keeps a reference to the space.
  FittingOnly(const space::Space& space, const Options& options, std::unique_ptr<Strategy> inner);
  [[nodiscard]] std::vector<Proposal> ask(std::size_t count) override;
  void tell(std::span<const space::Trial> finished) override;
  void mark_pending(std::span<const space::Configuration> in_flight) override;

 private:
  [[nodiscard]] bool fits(const space::Configuration& configuration);

  space::Lattice lattice_;
  MemoryGuard memory_;
  std::unique_ptr<Strategy> inner_;
  std::vector<Proposal> aside_;
};

}  // namespace nocturne::search
