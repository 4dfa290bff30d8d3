#pragma once

/// Environments for the trials of one campaign: installed when first wanted, within the campaign's limits.
///
/// What cannot be installed fails its whole software stack (failure_memory.hpp). Not thread-safe.

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>

#include "measure/environment/environment_store.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/executor/executor.hpp"
#include "tuner/executor/failure_memory.hpp"
#include "tuner/installation/frameworks.hpp"

namespace nocturne::tuner {

class EnvironmentMaker {
 public:
  struct Options {
    EnvironmentSettings limits;
    std::set<std::string> wanted;                    ///< frameworks of the campaign, which share its limit of disk
    std::int64_t downloaded_bytes = 0;               ///< by earlier sessions of the campaign
    std::function<void(std::string_view)> progress;  ///< lines of an installation; may be empty
    FailureMemory::Now now = std::chrono::steady_clock::now;
  };

  /// `frameworks` must outlive it.
  EnvironmentMaker(const Frameworks& frameworks, Options options)
      : frameworks_(frameworks), options_(std::move(options)), failed_(options_.now) {}

  /// The environment of a recipe, installed_now where this very call installed it. Outcomes: Killed (the stop),
  /// Unsupported (this machine or the campaign's limits), BuildFailed (it went wrong).
  [[nodiscard]] std::expected<measure::Environment, PreparationFailure> obtain(const measure::EnvironmentRecipe& recipe,
                                                                               const std::stop_token& stop);

 private:
  [[nodiscard]] std::expected<measure::Environment, PreparationFailure> install(
      const measure::EnvironmentRecipe& recipe, const std::stop_token& stop);
  /// Why the campaign's limits forbid it; empty: they do not.
  [[nodiscard]] std::string beyond_limits(const measure::EnvironmentRecipe& recipe) const;

  const Frameworks& frameworks_;
  Options options_;
  std::map<std::string, measure::Environment> made_;
  FailureMemory failed_;  // by recipe
};

}  // namespace nocturne::tuner
