#include "tuner/cli/subcommands/tune_overrides.hpp"

#include <chrono>

#include "search/registry.hpp"

namespace nocturne::cli {

std::expected<void, std::string> override_file(const TuneOptions& options, tuner::CampaignSpec& spec) {
  if (options.trials) {
    if (*options.trials < 1) return std::unexpected("--trials must be at least 1");
    spec.budget.trials = options.trials;
    spec.document["budget"]["trials"] = *options.trials;
  }
  if (!options.wall.empty()) {
    const auto wall = tuner::parse_duration(options.wall);
    if (!wall) return std::unexpected("--wall: " + wall.error());
    spec.budget.wall = std::chrono::ceil<std::chrono::seconds>(*wall);
    spec.document["budget"]["wall"] = options.wall;
  }
  if (!options.until.empty()) {
    const auto until = tuner::parse_time_of_day(options.until);
    if (!until) return std::unexpected("--until: " + until.error());
    spec.budget.until = *until;
    spec.document["budget"]["until"] = options.until;
  }
  if (!options.strategy.empty()) {
    spec.strategy.name = options.strategy;
    spec.document["strategy"]["name"] = options.strategy;
  }
  if (options.seed) {
    spec.strategy.seed = *options.seed;
    spec.document["strategy"]["seed"] = *options.seed;
  }
  if (options.no_history) {
    spec.strategy.history = false;
    spec.document["strategy"]["history"] = false;
  }
  const auto strategy = search::make_strategy(spec.strategy.name, spec.space, {.seed = spec.strategy.seed});
  if (!strategy) return std::unexpected(strategy.error());
  return {};
}

}  // namespace nocturne::cli
