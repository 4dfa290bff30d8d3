#pragma once

/// Wrong trainers for tests of the gate: our worker with one error in it. The shipped worker has none of this: its
/// main() passes no Sabotage, and nothing else makes one.

#include <span>
#include <string_view>

#include "kernels/onednn/session.hpp"

namespace nocturne::test {

struct PlantedError {
  std::string_view name;
  std::string_view explanation;
  onednn::Sabotage (*make)();
};

[[nodiscard]] std::span<const PlantedError> planted_errors();

/// Throws std::out_of_range.
[[nodiscard]] onednn::Sabotage planted(std::string_view name);

}  // namespace nocturne::test
