#pragma once

/// `--pairs N` and `--most-pairs N`: of verbs that compare in pairs of fresh processes.

#include "tuner/cli/app.hpp"

#include "measure/comparison/planned_looks.hpp"

namespace nocturne::cli {

/// The defaults are what the policy holds; it outlives the verb.
void add_pair_options(CLI::App& verb, measure::ComparisonPolicy& policy);

}  // namespace nocturne::cli
