#include "tuner/roofline/step_bound.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace nocturne::tuner {
namespace {

constexpr double kMasterBytes = 4;  // parameters, gradients and averages of the optimizer are f32 in every precision

struct Speed {
  double operations_a_second = 0;
  double value_bytes = 4;
};

std::expected<Speed, std::string> speed_of(const MachineFigures& machine, const TrainingStep& step) {
  const double bytes = step.precision == "f32" || step.precision == "tf32" ? 4 : 2;
  auto peak = machine.rate("fma_" + step.precision, step.threads);
  if (step.precision == "bf16" && !machine.is_gpu) {
    const auto tiles = machine.rate("amx_bf16", step.threads);
    if (!tiles && machine.has_tiles)
      return std::unexpected("this processor multiplies bf16 in AMX tiles, whose peak is not measured");
    if (tiles) peak = std::max(*tiles, peak.value_or(0));
    // A CPU without instructions for bf16 computes it in f32.
    if (!peak) peak = machine.rate("fma_f32", step.threads);
  }
  if (!peak) return std::unexpected(fmt::format("the peak of '{}' was not measured", step.precision));
  return Speed{.operations_a_second = *peak * 1e9, .value_bytes = bytes};
}

struct Way {
  double bytes_a_second = 0;  ///< 0: no bandwidth was measured
  std::string resource;
};

Way way_of(const MachineFigures& machine, double bytes, int threads) {
  for (std::size_t i = 0; i < machine.caches.size(); ++i) {
    if (machine.cache_bytes(i, threads) < bytes) continue;
    const std::string level = std::to_string(machine.caches[i].level);
    if (const auto rate = machine.rate("triad_l" + level, threads)) return {*rate * 1e9, "L" + level};
  }
  const auto rate = machine.rate("triad", threads);
  return {rate ? *rate * 1e9 : 0, "memory"};
}

/// Averages that an optimizer keeps of each parameter.
double averages_of(std::string_view optimizer) {
  if (optimizer == "adadelta" || optimizer == "adam" || optimizer == "adamw") return 2;
  if (optimizer.find("momentum") != std::string_view::npos || optimizer == "rmsprop") return 1;
  return 0;
}

LayerBound bound_of_work(std::string name, double operations, double bytes, const Speed& speed,
                         const MachineFigures& machine, int threads) {
  const Way way = way_of(machine, bytes, threads);
  LayerBound bound{.name = std::move(name),
                   .arithmetic_s = operations / speed.operations_a_second,
                   .bytes_s = way.bytes_a_second > 0 ? bytes / way.bytes_a_second : 0};
  bound.resource = bound.arithmetic_s >= bound.bytes_s ? "arithmetic" : way.resource;
  return bound;
}

double elements_of(const nlohmann::json& shape) {
  double product = 1;
  for (const nlohmann::json& side : shape) product *= side.get<double>();
  return product;
}

}  // namespace

std::expected<StepBound, std::string> step_bound(const NetworkWork& network, const MachineFigures& machine,
                                                 const TrainingStep& step) {
  const auto speed = speed_of(machine, step);
  if (!speed) return std::unexpected(speed.error());
  const auto batch = static_cast<double>(step.batch);
  StepBound result;
  for (const LayerWork& layer : network.layers) {
    const double bytes = (layer.values * batch + layer.parameters) * speed->value_bytes;
    result.layers.push_back(bound_of_work(layer.name, layer.operations * batch, bytes, *speed, machine, step.threads));
  }
  // Reads the gradient; reads and writes parameters and averages.
  const double touched = 1 + 2 * (1 + averages_of(step.optimizer));
  result.layers.push_back(
      bound_of_work("optimizer", 0, touched * network.parameters * kMasterBytes, *speed, machine, step.threads));
  std::map<std::string, double> by_resource;
  for (const LayerBound& layer : result.layers) {
    result.seconds += layer.seconds();
    by_resource[layer.resource] += layer.seconds();
  }
  const auto most = std::ranges::max_element(by_resource, {}, [](const auto& each) { return each.second; });
  result.resource = most->first;
  result.resource_share = result.seconds > 0 ? most->second / result.seconds : 0;
  return result;
}

double NetworkWork::operations() const {
  double sum = 0;
  for (const LayerWork& layer : layers) sum += layer.operations;
  return sum;
}

std::expected<NetworkWork, std::string> network_work(const nlohmann::json& description) {
  NetworkWork work;
  try {
    work.network = description.at("network").get<std::string>();
    work.parameters = description.at("parameters").get<double>();
    for (const nlohmann::json& each : description.at("layers")) {
      const auto forward = each.at("forward_flops").get<double>();
      const auto backward = each.at("backward_flops").get<double>();
      if (!(forward > 0)) continue;
      const bool has_one_below = backward > forward;  // else no input difference is computed
      const double input = elements_of(each.at("input")), output = elements_of(each.at("output"));
      work.layers.push_back({.name = each.at("name").get<std::string>(),
                             .operations = forward + backward,
                             .values = 2 * (input + output) + (has_one_below ? input : 0),
                             .parameters = each.at("parameters").get<double>() * (has_one_below ? 3 : 2)});
    }
  } catch (const nlohmann::json::exception& error) {
    return std::unexpected(fmt::format("the description of the network cannot be read: {}", error.what()));
  }
  if (work.layers.empty())
    return std::unexpected(fmt::format("the description of '{}' has no layer that computes", work.network));
  return work;
}

}  // namespace nocturne::tuner
