#pragma once

/// A survey as a table for people and as JSON for programs.

#include <iosfwd>
#include <vector>

#include <nlohmann/json.hpp>

#include "kernels/machine/survey.hpp"

namespace nocturne::machine {

void print_table(std::ostream& out, const std::vector<Measurement>& measurements);

/// {"format": 1, "measurements": [{name, unit, threads, kernel, median, minimum, maximum, relative_spread, repeats,
/// sum, right} or {name, unit, threads, absent}]}
[[nodiscard]] nlohmann::json to_json(const std::vector<Measurement>& measurements);

}  // namespace nocturne::machine
