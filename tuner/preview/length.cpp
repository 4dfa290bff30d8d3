#include "tuner/preview/length.hpp"

#include <algorithm>
#include <cmath>

#include "tuner/preview/forecast.hpp"

namespace nocturne::tuner {
namespace {

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

std::optional<std::chrono::nanoseconds> planned_length(const CampaignSpec& spec, const db::Store& store,
                                                       std::chrono::system_clock::time_point now) {
  using Length = std::optional<std::chrono::nanoseconds>;
  Length length;
  if (spec.budget.wall) length = *spec.budget.wall;
  if (spec.budget.until) {
    const std::chrono::nanoseconds left = next_occurrence(*spec.budget.until, now) - now;
    length = length ? std::min(*length, left) : left;
  }
  const auto costs = costs_of(spec, &store);
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
