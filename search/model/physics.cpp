#include "search/model/physics.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "search/model/bound_feature.hpp"

namespace nocturne::search::model {
namespace {

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
