#include "search/rescaled_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "space/names.hpp"

namespace nocturne::search {
namespace {

// exp(±30) spans 26 decades: what lies further out is as good as infinitely far, and no double overflows.
constexpr double kFarthest = 30;
// A unit is kept until the spread is another one by this factor.
constexpr double kRenewal = 2;
// Quartiles of a normal distribution lie 1.349 standard deviations apart.
constexpr double kQuartilesPerSd = 1.349;

constexpr std::array<std::string_view, 2> kDirections{"minimise", "maximise"};
constexpr std::array<std::string_view, 2> kScales{"logarithmic", "linear"};

double quantile(const std::vector<double>& ordered, double share) {
  const double place = share * static_cast<double>(ordered.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto above = std::min(below + 1, ordered.size() - 1);
  return std::lerp(ordered[below], ordered[above], place - std::floor(place));
}

}  // namespace

std::string_view to_text(Direction direction) {
  return space::name_of(direction, kDirections);
}

std::optional<Direction> direction_from_text(std::string_view text) {
  return space::named<Direction>(text, kDirections);
}

std::string_view to_text(ValueScale scale) {
  return space::name_of(scale, kScales);
}

std::optional<ValueScale> value_scale_from_text(std::string_view text) {
  return space::named<ValueScale>(text, kScales);
}

bool ValueRule::admits(double value) const {
  return std::isfinite(value) && (scale == ValueScale::Linear || value > 0);
}

RescaledSearch::RescaledSearch(ValueRule rule, Maker make) : rule_(rule), make_(std::move(make)), inner_(make_()) {}

std::vector<Proposal> RescaledSearch::ask(std::size_t count) {
  return inner_->ask(count);
}

void RescaledSearch::mark_pending(std::span<const space::Configuration> in_flight) {
  inner_->mark_pending(in_flight);
}

double RescaledSearch::cost(double value) const {
  return rule_.direction == Direction::Minimise ? value : -value;
}

RescaledSearch::Unit RescaledSearch::unit_of_all() const {
  std::vector<double> costs;
  for (const auto& [number, trial] : told_)
    if (trial.estimate) costs.push_back(cost(trial.estimate->value));
  if (costs.empty()) return {};
  std::ranges::sort(costs);
  Unit unit{.centre = quantile(costs, 0.5), .size = (quantile(costs, 0.75) - quantile(costs, 0.25)) / kQuartilesPerSd};
  if (unit.size <= 0) unit.size = costs.back() - costs.front();  // more than half of them are equal
  if (unit.size <= 0 || !std::isfinite(unit.size)) unit.size = 1;
  return unit;
}

space::Trial RescaledSearch::rescaled(space::Trial trial) const {
  trial.parts.reset();
  if (!trial.estimate) return trial;
  space::Estimate& estimate = *trial.estimate;
  if (rule_.scale == ValueScale::Linear) {
    const double distance = (cost(estimate.value) - unit_.centre) / unit_.size;
    estimate.value = std::exp(std::clamp(distance, -kFarthest, kFarthest));
    estimate.standard_error *= estimate.value / unit_.size;
  } else if (rule_.direction == Direction::Maximise) {
    estimate.standard_error /= estimate.value * estimate.value;
    estimate.value = 1 / estimate.value;
  }
  return trial;
}

void RescaledSearch::renew(Unit unit) {
  unit_ = unit;
  ++renewals_;
  inner_ = make_();
  for (const auto& [number, trial] : told_) {
    const space::Trial told = rescaled(trial);
    inner_->tell({&told, 1});
  }
}

void RescaledSearch::tell(std::span<const space::Trial> finished) {
  for (const space::Trial& trial : finished) {
    if (rule_.scale == ValueScale::Linear) {
      told_.insert_or_assign(trial.number, trial);
      const Unit unit = unit_of_all();
      if (unit.size > kRenewal * unit_.size || kRenewal * unit.size < unit_.size) {
        renew(unit);
        continue;
      }
    }
    const space::Trial told = rescaled(trial);
    inner_->tell({&told, 1});
  }
}

}  // namespace nocturne::search
