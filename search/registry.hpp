#pragma once

/// The one list of strategies. A new strategy is a file here and a line in registry.cpp.

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/strategy.hpp"
#include "search/work_bound.hpp"
#include "space/objective.hpp"
#include "space/space.hpp"
#include "space/trial.hpp"

namespace nocturne::search {

/// Trials of a finished campaign, told as a prior before the first ask.
struct History {
  bool same_machine_and_workload = false;  ///< else its times only rank
  std::vector<space::Trial> trials;
  std::string name{};  ///< name shown in reports: "mnist-evening"
};

/// What every strategy gets.
struct Options {
  std::uint64_t seed = 1;
  space::Objective objective{};  ///< the horizons at which a configuration may win
  /// What finished campaigns say, the most telling first. Empty: starts from nothing. Strategies without a model
  /// ignore it.
  std::vector<History> history{};
  /// Told what the user should know, a sentence: history that does not hold any more. May be empty.
  std::function<void(const std::string&)> note{};
  /// Expected seconds that preparing this configuration still costs (what is built or installed costs nothing).
  /// Empty: preparation is free, proposals are judged by the trial alone.
  std::function<double(const space::Configuration&)> preparation_seconds{};
  Roles roles{};
  std::int64_t memory_limit_bytes = 0;  ///< limit for one run; 0: not known, so everything fits
  WorkBound bound{};                    ///< what the machine could do at best; empty: not known
};

struct StrategyEntry {
  std::string_view name;
  std::string_view description;  ///< one sentence
  /// The strategy keeps a reference to the space.
  std::unique_ptr<Strategy> (*make)(const space::Space& space, const Options& options);
  bool uses_history = false;
};

/// All strategies, in the order in which they are shown.
[[nodiscard]] std::span<const StrategyEntry> strategies();

/// Whether the strategy of that name learns from Options::history.
[[nodiscard]] bool uses_history(std::string_view name);

/// Error: "unknown strategy 'exhastive', did you mean 'exhaustive'?" and all names.
/// REQUIRES: the space outlives the strategy.
[[nodiscard]] std::expected<std::unique_ptr<Strategy>, std::string> make_strategy(std::string_view name,
                                                                                  const space::Space& space,
                                                                                  const Options& options);

}  // namespace nocturne::search
