#include "tuner/cli/choice/pair_options.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tuner/cli/choice/number_checks.hpp"

namespace nocturne::cli {

void add_pair_options(CLI::App& subcommand, measure::ComparisonPolicy& policy) {
  const auto range = whole_number(2, 1000);
  subcommand
      .add_option("--pairs", policy.pairs,
                  fmt::format("Pairs of fresh processes before the first look (default: {})", policy.pairs))
      ->type_name("N")
      ->check(range);
  subcommand
      .add_option("--most-pairs", policy.most_pairs,
                  fmt::format("While undecided, up to this many (default: {})", policy.most_pairs))
      ->type_name("N")
      ->check(range);
}

}  // namespace nocturne::cli
