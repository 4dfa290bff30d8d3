#include "tuner/cli/explaining/effects.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace nocturne::cli {
namespace {

using OptionalValue = std::optional<space::Value>;

OptionalValue value_of(const space::Configuration& configuration, const std::string& parameter) {
  const space::Value* value = configuration.find(parameter);
  return value != nullptr ? OptionalValue(*value) : std::nullopt;
}

std::string canonical_without(space::Configuration configuration, const std::string& parameter) {
  configuration.erase(parameter);
  return configuration.canonical();
}

bool is_measured(const space::Trial& trial) {
  return trial.outcome == space::Outcome::Ok && trial.parts.has_value();
}

/// Sum of logarithms, as a geometric mean wants it.
struct LogSum {
  double sum = 0;
  std::size_t count = 0;
  void add(double value) {
    sum += std::log(value);
    ++count;
  }
  [[nodiscard]] double mean() const { return std::exp(sum / static_cast<double>(count)); }
};

void compare_matched(std::span<const space::Trial> trials, double epochs, ParameterEffect& effect) {
  std::map<std::string, double> with_default;  // the rest of a configuration → T with the default's value
  for (const space::Trial& trial : trials)
    if (is_measured(trial) && value_of(trial.configuration, effect.parameter) == effect.default_value)
      with_default[canonical_without(trial.configuration, effect.parameter)] = space::total_time(*trial.parts, epochs);
  std::map<OptionalValue, LogSum> ratios;
  for (const space::Trial& trial : trials) {
    const OptionalValue value = value_of(trial.configuration, effect.parameter);
    if (!is_measured(trial) || value == effect.default_value) continue;
    const auto found = with_default.find(canonical_without(trial.configuration, effect.parameter));
    if (found != with_default.end()) ratios[value].add(space::total_time(*trial.parts, epochs) / found->second);
  }
  for (ValueEffect& each : effect.values) {
    if (const auto found = ratios.find(each.value); found != ratios.end()) {
      each.matched = found->second.count;
      each.ratio = found->second.mean();
    }
  }
}

ParameterEffect effect_of(const std::string& parameter, std::span<const space::Trial> trials, double epochs,
                          const space::Configuration& defaults) {
  ParameterEffect effect{.parameter = parameter, .default_value = value_of(defaults, parameter), .values = {}};
  std::map<OptionalValue, std::pair<ValueEffect, LogSum>> by_value;
  for (const space::Trial& trial : trials) {
    auto& [one, sum] = by_value[value_of(trial.configuration, parameter)];
    if (!is_measured(trial)) {
      ++one.failed;
      continue;
    }
    const double time = space::total_time(*trial.parts, epochs);
    one.fastest = one.measured == 0 ? time : std::min(one.fastest, time);
    one.slowest = std::max(one.slowest, time);
    ++one.measured;
    sum.add(time);
  }
  for (auto& [value, entry] : by_value) {
    auto& [one, sum] = entry;
    one.value = value;
    one.mean = sum.count > 0 ? sum.mean() : 0;
    effect.values.push_back(one);
  }
  compare_matched(trials, epochs, effect);
  return effect;
}

}  // namespace

std::vector<ParameterEffect> effects_of(std::span<const space::Trial> trials, double epochs) {
  std::set<std::string> parameters;
  space::Configuration defaults;
  for (const space::Trial& trial : trials) {
    if (trial.number == 0) defaults = trial.configuration;
    for (const auto& [name, value] : trial.configuration.values()) parameters.insert(name);
  }
  std::vector<ParameterEffect> effects;
  for (const std::string& parameter : parameters) {
    ParameterEffect effect = effect_of(parameter, trials, epochs, defaults);
    if (effect.values.size() > 1) effects.push_back(std::move(effect));
  }
  return effects;
}

}  // namespace nocturne::cli
