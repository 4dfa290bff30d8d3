#pragma once

/// Small random spaces with conditions and constraints, and their valid configurations found by trying everything.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "space/space.hpp"

namespace nocturne::space::test {

struct Description {
  std::vector<ParameterSpec> parameters;
  std::vector<ConstraintSpec> constraints;
};

/// Two to six parameters of up to six values each. May be one that Space::create() refuses.
[[nodiscard]] Description random_description(std::uint64_t seed);

/// The first space at or after `seed` that exists; moves `seed` past it.
[[nodiscard]] Space random_space(std::uint64_t& seed, Description& description);

/// canonical() of all valid configurations: every combination of values, judged by Expression::evaluate() alone.
[[nodiscard]] std::set<std::string> valid_by_brute_force(const Space& space, const Description& description);

}  // namespace nocturne::space::test
