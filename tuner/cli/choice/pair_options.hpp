#pragma once

/// `--pairs N` and `--most-pairs N`: of verbs that compare in pairs of fresh processes.

#include "tuner/cli/app.hpp"

namespace nocturne::cli {

/// The defaults are what `pairs` and `most_pairs` hold; both outlive the verb.
void add_pair_options(CLI::App& verb, int& pairs, int& most_pairs);

}  // namespace nocturne::cli
