#include "tuner/preview/forecast.hpp"

#include <algorithm>
#include <cmath>
#include <variant>
#include <vector>

#include "measure/comparison/location.hpp"
#include "tuner/campaign/answer/roofline.hpp"
#include "tuner/campaign/pacing.hpp"
#include "tuner/campaign/stored_document.hpp"

namespace nocturne::tuner {
namespace {

// Assumptions for a machine that has measured nothing: two cores of a server.
struct AssumedTimes {
  double start_seconds = 1.5;  // process, data, primitives, first step
  double step_seconds = 0.1;   // the MNIST network: between 0.01 (bf16, small batch) and 0.6
};
constexpr AssumedTimes kResNet50 = {.start_seconds = 12, .step_seconds = 3};  // batch 16: between 1 (bf16) and 6
constexpr double kBuildSeconds = 30;                                          // two dozen source files on two cores
constexpr double kEpochSeconds = 25;                                          // 469 steps at batch 128
constexpr std::int64_t kRecent = 1000;                                        // trials that are looked at
constexpr std::int64_t kUsualBatchSize = 128;                                 // of a campaign that does not say

double seconds_of(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * 1e-9;
}

/// Steps of an epoch of the default configuration.
double steps_of_epoch(const CampaignSpec& spec) {
  const std::int64_t batch = spec.space.default_configuration().integer_of("batch").value_or(0);
  return static_cast<double>(spec.workload.training_examples) /
         static_cast<double>(batch > 0 ? batch : kUsualBatchSize);
}

/// Ids of the campaigns that train the same network.
std::vector<db::CampaignId> campaigns_like(const CampaignSpec& spec, const db::Store& store) {
  std::vector<db::CampaignId> ids;
  for (const db::CampaignSummary& campaign : store.list_campaigns())
    if (workload_of(campaign.spec).network == spec.workload.network) ids.push_back(campaign.id);
  return ids;
}

/// Different builds at most, conditions and constraints left aside.
double most_builds(const space::Space& space) {
  double product = 1;
  for (const space::Parameter& parameter : space.parameters()) {
    if (parameter.stage > space::Stage::Build) continue;
    product *= parameter.is_real() ? HUGE_VAL : static_cast<double>(parameter.size());
  }
  return product;
}

}  // namespace

std::optional<double> first_estimate(const CampaignSpec& spec, const db::Store& store,
                                     const space::Fingerprint& fingerprint) {
  if (!spec.worker.own.empty()) return std::nullopt;
  const auto peaks = peaks_for(store, fingerprint, spec.workload);
  if (!peaks) return std::nullopt;
  const auto bound = peaks->bound(spec.space.default_configuration(), kUsualBatchSize);
  return bound ? std::optional<double>(bound->seconds / kTypicalShare) : std::nullopt;
}

Costs costs_of(const CampaignSpec& spec, const db::Store* store, std::optional<double> step_seconds) {
  Costs costs;
  const double processes = spec.run.repeats;
  const AssumedTimes assumed = spec.workload.network == "resnet50" ? kResNet50 : AssumedTimes{};
  const double step = step_seconds.value_or(assumed.step_seconds);
  const double epoch = step_seconds ? step * steps_of_epoch(spec) : kEpochSeconds;
  costs.trial_seconds = processes * (assumed.start_seconds + step * static_cast<double>(spec.run.steps));
  costs.build_seconds = kBuildSeconds;
  costs.finals_seconds = 2 * spec.verify.pairs *
                             (assumed.start_seconds + step * static_cast<double>(spec.verify.slices) *
                                                          static_cast<double>(spec.verify.slice_steps)) +
                         2 * epoch * static_cast<double>(spec.verify.accuracy_epochs);
  costs.step_seconds = step_seconds;
  if (store == nullptr) return costs;

  const auto campaigns = campaigns_like(spec, *store);
  std::vector<double> durations;
  std::optional<Pace> typical;
  for (const db::CampaignId campaign : campaigns) {
    const auto trials = store->list_trials({.campaign = campaign, .state = db::TrialState::Finished, .limit = kRecent});
    for (const db::StoredTrial& stored : trials) {
      if (stored.reused_from || !stored.finished_unix_ns || stored.trial.fidelity.steps != spec.run.steps) continue;
      durations.push_back(seconds_of(*stored.finished_unix_ns - stored.reserved_unix_ns));
      if (!typical && stored.trial.parts) typical = pace_of(spec, stored);
    }
  }
  if (!durations.empty()) {
    costs.trials = static_cast<std::int64_t>(durations.size());
    costs.trial_seconds = measure::median(durations);
    costs.step_seconds.reset();
  }
  if (typical) {
    costs.finals_seconds =
        std::chrono::duration<double>(forecast_finals(spec.verify, *typical, *typical, spec.budget.wall)).count();
  }
  const auto builds = store->list_builds();
  std::vector<double> build_times;
  for (const db::BuildRecord& build : builds)
    if (build.build_ns > 0 && !db::environment_of(build)) build_times.push_back(seconds_of(build.build_ns));
  if (!build_times.empty()) {
    costs.builds = static_cast<std::int64_t>(build_times.size());
    costs.build_seconds = measure::median(build_times);
  }
  return costs;
}

double time_of_trials(double trials, double builds, const Costs& costs) {
  const double met = builds <= 1 ? std::min(builds, trials) : builds * -std::expm1(trials * std::log1p(-1 / builds));
  return trials * costs.trial_seconds + met * costs.build_seconds;
}

Forecast forecast(const CampaignSpec& spec, const Survey& survey, const Costs& costs,
                  std::optional<double> until_seconds) {
  Forecast result;
  const bool infinite = survey.valid.kind == space::Size::Kind::Infinite;
  // The stack of an environment is installed, not built.
  const double builds = std::max(survey.builds.size.approximate - static_cast<double>(costs.environments), 1.0);
  const double valid = survey.valid.approximate;
  if (!infinite) {
    result.everything_seconds = valid * costs.trial_seconds + std::min(builds, valid) * costs.build_seconds +
                                costs.install_seconds + costs.finals_seconds;
  }
  if (spec.budget.wall) result.budget_seconds = std::chrono::duration<double>(*spec.budget.wall).count();
  if (until_seconds) result.budget_seconds = std::min(result.budget_seconds.value_or(*until_seconds), *until_seconds);

  double trials = infinite ? HUGE_VAL : valid;
  if (spec.budget.trials) trials = std::min(trials, static_cast<double>(*spec.budget.trials));
  if (result.budget_seconds) {
    const double room = *result.budget_seconds - costs.finals_seconds - costs.install_seconds;
    double low = 0, high = std::max(room, 0.0) / costs.trial_seconds;  // time_of_trials() rises with the trials
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      (time_of_trials(middle, builds, costs) <= room ? low : high) = middle;
    }
    trials = std::min(trials, std::max(1.0, std::floor(low)));  // the default is measured, whatever the budget
  }
  const bool all = !infinite && trials >= valid;
  if (!std::isinf(trials)) {
    result.trials = trials;
    result.seconds = all ? *result.everything_seconds
                         : time_of_trials(trials, builds, costs) + costs.install_seconds + costs.finals_seconds;
  }
  return result;
}

std::optional<std::chrono::nanoseconds> planned_length(const CampaignSpec& spec, const db::Store* store,
                                                       std::chrono::system_clock::time_point now) {
  using Length = std::optional<std::chrono::nanoseconds>;
  Length length;
  if (spec.budget.wall) length = *spec.budget.wall;
  if (spec.budget.until) {
    const std::chrono::nanoseconds left = next_occurrence(*spec.budget.until, now) - now;
    length = length ? std::min(*length, left) : left;
  }
  const auto costs = costs_of(spec, store);
  if (length && costs.trials == 0) return length;  // a mere assumption does not shorten what the budget allows
  const space::Size size = spec.space.count();
  double trials = size.kind == space::Size::Kind::Infinite ? HUGE_VAL : size.approximate;
  if (spec.budget.trials) trials = std::min(trials, static_cast<double>(*spec.budget.trials));
  const double builds =
      spec.worker.command.empty() && spec.worker.own.empty() ? std::min(trials, most_builds(spec.space)) : 0;
  const double seconds = trials * costs.trial_seconds + builds * costs.build_seconds + costs.finals_seconds;
  constexpr double kCentury = 3e9;  // seconds; nanoseconds end at three
  if (seconds > kCentury) return length;
  const std::chrono::nanoseconds forecast(static_cast<std::int64_t>(seconds * 1e9));
  return Length(length ? std::min(*length, forecast) : forecast);
}

}  // namespace nocturne::tuner
