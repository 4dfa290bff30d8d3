#include "tuner/roofline/network_work.hpp"

#include <fmt/format.h>

namespace nocturne::tuner {
namespace {

double elements_of(const nlohmann::json& shape) {
  double product = 1;
  for (const nlohmann::json& side : shape) product *= side.get<double>();
  return product;
}

}  // namespace

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
  if (work.layers.empty()) {
    return std::unexpected(fmt::format("the description of '{}' has no layer that computes", work.network));
  }
  return work;
}

}  // namespace nocturne::tuner
