#pragma once

/// Uniform over the valid configurations, without repetition: the baseline every other strategy must beat, and the
/// only one whose results say what a typical configuration is worth.

#include "search/asked.hpp"
#include "search/strategy.hpp"
#include "space/space.hpp"

namespace nocturne::search {

class RandomSearch final : public Strategy {
 public:
  /// REQUIRES: the space outlives the strategy.
  RandomSearch(const space::Space& space, std::uint64_t seed) : space_(space), seed_(seed) {}

  [[nodiscard]] std::vector<space::Configuration> ask(std::size_t count) override;
  void tell(std::span<const space::Trial> finished) override;

 private:
  const space::Space& space_;
  std::uint64_t seed_;
  std::uint64_t asks_ = 0;
  Asked known_;
};

}  // namespace nocturne::search
