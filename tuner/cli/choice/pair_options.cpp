#include "tuner/cli/choice/pair_options.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tuner/cli/choice/number_checks.hpp"

namespace nocturne::cli {

void add_pair_options(CLI::App& verb, int& pairs, int& most_pairs) {
  const auto range = whole_number(2, 1000);
  verb.add_option("--pairs", pairs, fmt::format("Pairs of fresh processes before the first look (default: {})", pairs))
      ->type_name("N")
      ->check(range);
  verb.add_option("--most-pairs", most_pairs, fmt::format("While undecided, up to this many (default: {})", most_pairs))
      ->type_name("N")
      ->check(range);
}

}  // namespace nocturne::cli
