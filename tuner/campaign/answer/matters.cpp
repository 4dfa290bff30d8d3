#include "tuner/campaign/answer/matters.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

namespace nocturne::tuner {
namespace {

/// Surely slower or faster by more than is worth a look.
bool is_much(const OtherValue& other) {
  const auto& interval = other.change.interval;
  return interval.lower > kHardly || interval.upper < -kHardly;
}

bool is_hardly(const OtherValue& other) {
  const auto& interval = other.change.interval;
  return interval.lower > -kHardly && interval.upper < kHardly;
}

double most(const Matter& matter) {
  double result = 0;
  for (const OtherValue& other : matter.others) {
    if (is_much(other)) result = std::max(result, std::abs(other.change.mean));
  }
  return result;
}

/// What the trials took, by point.
std::map<std::vector<space::Level>, double> log_estimates(const Learned& learned) {
  std::map<std::vector<space::Level>, double> result;
  for (const space::Trial& trial : learned.trials) {
    if (!trial.estimate || !(trial.estimate->value > 0)) continue;
    if (const auto point = learned.lattice().point_of(trial.configuration)) {
      result[*point] = std::log(trial.estimate->value);
    }
  }
  return result;
}

std::vector<Matter> all_matters(Learned& learned, const std::vector<space::Level>& best) {
  const space::Lattice& lattice = learned.lattice();
  std::vector<Matter> result;
  const auto measured = log_estimates(learned);
  const search::model::ChangeOptions options{.confidence = kPageConfidence, .process_sd = learned.process_sd};
  for (const auto& change : search::model::changes_from(learned.times(), learned.lattice(), best, options)) {
    const auto& axis = lattice.axis(change.parameter);
    const std::string& name = lattice.parameter(change.parameter).name;
    if (result.empty() || result.back().parameter != name) {
      result.push_back({.parameter = name, .value = space::to_text(axis.values[best[change.parameter]]), .others = {}});
    }
    OtherValue other{.value = space::to_text(axis.values[change.level]), .change = change, .measured = {}};
    const auto changed = search::model::with_level(learned.lattice(), best, change.parameter, change.level, 1);
    const auto found = changed ? measured.find(*changed) : measured.end();
    const auto here = measured.find(best);
    if (found != measured.end() && here != measured.end()) other.measured = found->second - here->second;
    result.back().others.push_back(std::move(other));
  }
  const auto mean = [](const OtherValue& other) { return other.change.mean; };
  for (Matter& matter : result) std::ranges::stable_sort(matter.others, {}, mean);
  return result;
}

}  // namespace

Matters matters(Learned& learned, const space::Configuration& best) {
  Matters result;
  const space::Lattice& lattice = learned.lattice();
  if (const auto point = lattice.point_of(best)) {
    for (Matter& matter : all_matters(learned, *point)) {
      auto& list = std::ranges::any_of(matter.others, is_much)     ? result.much
                   : std::ranges::all_of(matter.others, is_hardly) ? result.hardly
                                                                   : result.unsure;
      list.push_back(std::move(matter));
    }
  }
  std::ranges::stable_sort(result.much, std::ranges::greater(), most);
  for (const auto& level : learned.search->pruned_levels()) {
    if (level.level == space::kNoLevel) continue;
    const space::Value& value = lattice.axis(level.parameter).values[level.level];
    result.ruled_out.push_back({lattice.parameter(level.parameter).name, space::to_text(value)});
  }
  std::ranges::stable_sort(result.ruled_out, {}, &Matters::RuledOut::parameter);
  const auto [pruned, drawn] = learned.search->pruned_share(kPrunedDraws);
  if (drawn > 0) result.ruled_out_share = static_cast<double>(pruned) / static_cast<double>(drawn);
  return result;
}

}  // namespace nocturne::tuner
