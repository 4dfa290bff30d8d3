#pragma once

/// `--pairs N` and `--most-pairs N`: of subcommands that compare in pairs of fresh processes.

#include "tuner/cli/app.hpp"

#include "measure/comparison/planned_looks.hpp"

namespace nocturne::cli {

/// The defaults are what the policy holds; it outlives the subcommand.
void add_pair_options(CLI::App& subcommand, measure::ComparisonPolicy& policy);

}  // namespace nocturne::cli
