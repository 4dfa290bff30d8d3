#pragma once

/// How much of a training a trial runs.

#include <compare>
#include <cstdint>

namespace nocturne::space {

struct Fidelity {
  std::int64_t steps = 40;  ///< timed steps
  friend auto operator<=>(const Fidelity&, const Fidelity&) = default;
};

}  // namespace nocturne::space
