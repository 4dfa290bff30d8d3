#pragma once

/// Whether nothing works: all that a campaign has tried, its default first, failed in one and the same way. Pure.
///
/// A night of equal failures says no more than the first twenty did; who hears of them at eleven can still fix the
/// cause. Failures that differ are what a search is for: then something else may work.

#include <cstddef>
#include <optional>
#include <string>

#include "space/trial.hpp"

namespace nocturne::tuner {

class DeadEnd {
 public:
  static constexpr std::size_t kFailures = 20;  ///< trials, without one that worked

  void learn(const space::Trial& trial);
  /// Why going on is hopeless, in a sentence with the common reason; empty: it is not.
  [[nodiscard]] std::optional<std::string> reached() const;

 private:
  std::size_t failures_ = 0;
  bool open_ = false;  ///< something worked, or failed otherwise
  std::string first_reason_;
};

}  // namespace nocturne::tuner
