#include "tuner/campaign/node_effects.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace nocturne::tuner {
namespace {

constexpr double kWorthARemark = 0.03;
constexpr double kBeyondChance = 3;  // standard deviations: a cluster has many nodes

}  // namespace

void NodeEffects::learn(const std::string& node, const space::Estimate& estimate) {
  if (!(estimate.value > 0)) return;
  const double relative = estimate.standard_error / estimate.value;
  nodes_[node] = {.log_seconds = std::log(estimate.value),
                  .variance = process_sd_ * process_sd_ / std::max(estimate.runs, 1) + relative * relative};
}

double NodeEffects::mean() const {
  double sum = 0;
  for (const auto& [name, each] : nodes_) sum += each.log_seconds;
  return sum / static_cast<double>(nodes_.size());
}

double NodeEffects::shrunk(const std::string& node) const {
  const auto found = nodes_.find(node);
  if (found == nodes_.end() || nodes_.size() < 2) return 0;
  const double middle = mean();
  double scatter = 0, chance = 0;
  for (const auto& [name, each] : nodes_) {
    scatter += (each.log_seconds - middle) * (each.log_seconds - middle);
    chance += each.variance;
  }
  const auto count = static_cast<double>(nodes_.size());
  const double between = std::max(scatter / (count - 1) - chance / count, 0.0);
  if (between <= 0) return 0;
  return between / (between + found->second.variance) * (found->second.log_seconds - middle);
}

double NodeEffects::effect(const std::string& node) const {
  if (!nodes_.contains(node)) return 0;
  return shrunk(node) - shrunk(reference_);
}

std::string NodeEffects::remark(const std::string& node) const {
  const auto found = nodes_.find(node);
  if (found == nodes_.end() || nodes_.size() < 2) return {};
  const auto count = static_cast<double>(nodes_.size());
  // Against the mean of the others.
  const double away = (found->second.log_seconds - mean()) * count / (count - 1);
  if (std::abs(away) < kWorthARemark || std::abs(away) < kBeyondChance * std::sqrt(found->second.variance)) return {};
  const double percent = std::abs(std::expm1(away)) * 100;
  return fmt::format("the node {} takes {:.0f} % {} than the others for the default", node, percent,
                     away > 0 ? "longer" : "less");
}

void take_away(double effect, space::Trial& trial) {
  if (effect != 0) space::scale_times(std::exp(-effect), trial);
}

}  // namespace nocturne::tuner
