#pragma once

/// What a space holds, before anything is measured: how many configurations, what each constraint takes away, how many
/// different builds.

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "space/facts.hpp"
#include "space/space.hpp"

namespace nocturne::tuner {

struct ConstraintEffect {
  space::ConstraintSpec constraint;
  /// How many of Survey::combinations it forbids, whatever the others forbid. Empty: not exact, or too slow to count.
  std::optional<space::Count> removed;
};

struct BuildCount {
  space::Size size;      ///< different values of the parameters of the stages environment and build together
  bool at_most = false;  ///< constraints that join them with parameters of later stages were left aside
};

struct Survey {
  space::Size combinations;  ///< configurations if there were no constraints; conditions of activity respected
  space::Size valid;
  std::vector<ConstraintEffect> constraints;
  BuildCount builds;
};

/// `patience`: no further constraint is counted once this has passed (counting one takes milliseconds, or a second
/// where it joins many values).
[[nodiscard]] Survey survey(const space::Space& space, const space::Facts& facts,
                            std::chrono::milliseconds patience = std::chrono::seconds(3));

}  // namespace nocturne::tuner
