#pragma once

/// The seam between a campaign and whatever proposes configurations.

#include <cstddef>
#include <span>
#include <vector>

#include "space/configuration.hpp"
#include "space/trial.hpp"

namespace nocturne::search {

/// Proposes configurations and learns from finished trials (ask/tell).
///
/// One instance serves one campaign; not thread-safe. The same seed and the same sequence of calls give the same
/// proposals: no clock, no global state; ask number k draws its randomness from (seed, k) alone. A proposal may never
/// come back; only tell() says what happened, and may say it again with a better estimate.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Returns up to `count` valid configurations that were neither asked nor told before. Empty: nothing left to
  /// propose.
  [[nodiscard]] virtual std::vector<space::Configuration> ask(std::size_t count) = 0;
  /// Learns from finished trials, failed ones too: their estimate is empty, their outcome says why.
  virtual void tell(std::span<const space::Trial> finished) = 0;
};

}  // namespace nocturne::search
