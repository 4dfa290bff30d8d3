#pragma once

/// ParameterSpec to Parameter: evaluates bounds and defaults on one machine and reports what is wrong. Internal to
/// space.

#include <string>
#include <vector>

#include "space/facts.hpp"
#include "space/parameter.hpp"
#include "space/space.hpp"

namespace nocturne::space {

/// Appends to `errors`, with paths below `path` ("/parameters/3"). A parameter that could not be resolved comes back
/// with one value of each type, so that expressions that mention it can be checked all the same.
[[nodiscard]] Parameter resolve_parameter(const ParameterSpec& spec, const std::string& path, const Facts& facts,
                                          std::vector<SpaceError>& errors);

}  // namespace nocturne::space
