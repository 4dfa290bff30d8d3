#include "search/model/physics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

namespace nocturne::search::model {
namespace {

/// The bound by the levels it depends on, each computed when first asked for.
class BoundTable {
 public:
  BoundTable(const space::Lattice& lattice, const WorkBound& bound) : lattice_(lattice), bound_(bound) {
    std::size_t size = 1;
    for (std::size_t i = 0; i < lattice.width() && size <= kMostBounds; ++i) {
      if (std::ranges::find(bound.parameters, lattice.parameter(i).name) == bound.parameters.end()) continue;
      axes_.push_back(i);
      size *= lattice.axis(i).levels + 1;  // and inactive
    }
    if (!axes_.empty() && size <= kMostBounds) logs_.assign(size, std::numeric_limits<double>::quiet_NaN());
  }
  [[nodiscard]] bool empty() const { return logs_.empty(); }

  [[nodiscard]] double log_seconds(space::Point point) {
    std::size_t place = 0;
    for (const std::size_t axis : axes_) {
      const std::size_t levels = lattice_.axis(axis).levels;
      place = place * (levels + 1) + (point[axis] == space::kNoLevel ? levels : point[axis]);
    }
    double& known = logs_[place];
    if (std::isnan(known)) known = compute(point);
    return known;
  }

 private:
  [[nodiscard]] double compute(space::Point point) const {
    space::Configuration configuration;
    for (const std::size_t axis : axes_) {
      if (point[axis] == space::kNoLevel) continue;
      configuration.set(lattice_.parameter(axis).name, lattice_.axis(axis).values[point[axis]]);
    }
    const double seconds = bound_.seconds_an_example(configuration);
    return seconds > 0 && std::isfinite(seconds) ? std::log(seconds) : 0;
  }

  const space::Lattice& lattice_;
  WorkBound bound_;
  std::vector<std::size_t> axes_;
  std::vector<double> logs_;
};

/// The parameter of that name, where every configuration has a positive number of it.
std::optional<std::size_t> number(const space::Lattice& lattice, const std::string& name) {
  for (std::size_t i = 0; i < lattice.width() && !name.empty(); ++i) {
    if (lattice.parameter(i).name != name) continue;
    const auto& axis = lattice.axis(i);
    const bool positive = std::ranges::all_of(axis.numbers, [](double each) { return each > 0; });
    if (!axis.conditional && axis.levels > 1 && !axis.numbers.empty() && positive) return i;
  }
  return std::nullopt;
}

/// 1 where there is no such parameter.
double value(const space::Lattice& lattice, const std::optional<std::size_t>& parameter, space::Point point) {
  return parameter ? lattice.axis(*parameter).numbers[point[*parameter]] : 1;
}

std::vector<Feature> features_of_roles(const space::Lattice& lattice, const Roles& roles) {
  const auto batch = number(lattice, roles.batch);
  const auto threads = number(lattice, roles.threads);
  std::vector<Feature> features;
  if (!batch && threads) {
    features.push_back(
        {.name = fmt::format("log(1 / {})", roles.threads),
         .value = [&lattice, threads](space::Point point) { return -std::log(value(lattice, threads, point)); }});
  }
  if (!batch) return features;
  for (const double fixed : kFixedCosts) {
    features.push_back(
        {.name = fmt::format("log(1{} + {} / {})", threads ? " / " + roles.threads : "", fixed, roles.batch),
         .value = [&lattice, batch, threads, fixed](space::Point point) {
           return std::log(1 / value(lattice, threads, point) + fixed / value(lattice, batch, point));
         }});
  }
  return features;
}

}  // namespace

std::vector<Feature> bound_feature(const space::Lattice& lattice, const WorkBound& bound) {
  if (!bound.seconds_an_example) return {};
  const auto table = std::make_shared<BoundTable>(lattice, bound);
  if (table->empty()) return {};
  return {
      {.name = "log(bound of an example)", .value = [table](space::Point point) { return table->log_seconds(point); }}};
}

std::vector<Feature> step_features(const space::Lattice& lattice, const Roles& roles, const WorkBound& bound) {
  auto features = features_of_roles(lattice, roles);
  std::ranges::move(bound_feature(lattice, bound), std::back_inserter(features));
  return features;
}

std::vector<Feature> startup_features(const space::Lattice& lattice, const Roles& roles) {
  const auto batch = number(lattice, roles.batch);
  if (!batch) return {};
  return {{.name = fmt::format("log({})", roles.batch),
           .value = [&lattice, batch](space::Point point) { return std::log(value(lattice, batch, point)); }}};
}

}  // namespace nocturne::search::model
