#pragma once

/// Turns a described table into one that a space holds. Internal to space.

#include <optional>
#include <vector>

#include "space/compiled_space.hpp"

namespace nocturne::space {

/// Checks columns and cells against a compiled space whose parameters, conditions and activation order are resolved.
/// Empty: it has added errors.
[[nodiscard]] std::optional<TableConstraint> resolve_rows(const RowTableSpec& spec, const Space::Compiled& compiled,
                                                          std::vector<SpaceError>& errors);

}  // namespace nocturne::space
