#include "tuner/cli/choice/pair_options.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tuner/cli/choice/number_checks.hpp"

namespace nocturne::cli {

void add_pair_options(CLI::App& verb, measure::ComparisonPolicy& policy) {
  const auto range = whole_number(2, 1000);
  verb.add_option("--pairs", policy.pairs,
                  fmt::format("Pairs of fresh processes before the first look (default: {})", policy.pairs))
      ->type_name("N")
      ->check(range);
  verb.add_option("--most-pairs", policy.most_pairs,
                  fmt::format("While undecided, up to this many (default: {})", policy.most_pairs))
      ->type_name("N")
      ->check(range);
}

}  // namespace nocturne::cli
