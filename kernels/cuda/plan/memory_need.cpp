#include "kernels/cuda/plan/memory_need.hpp"

#include <algorithm>

#include "kernels/cuda/plan/network_plan.hpp"
#include "kernels/cuda/plan/parameter_table.hpp"

namespace nocturne::cuda {
namespace {

constexpr std::int64_t kFloat = sizeof(float), kLabel = sizeof(std::int32_t);

std::int64_t parameter_bytes(const ParameterTable& table, Precision precision) {
  const std::int64_t weighted = table.section(Section::Normalisation).begin, size = bytes_per_value(precision);
  const std::int64_t masters_and_averages = 3 * table.count * kFloat;
  const std::int64_t gradients = weighted * size + (table.count - weighted) * kFloat;
  return masters_and_averages + gradients + (size < kFloat ? weighted * size : 0);
}

}  // namespace

MemoryNeed memory_need(const networks::Network& network, const Settings& settings, std::int64_t rest) {
  const std::int64_t size = bytes_per_value(settings.precision);
  const NetworkPlan plan = plan_network(network, settings.batch, size);
  const std::int64_t smaller = rest > 0 ? plan_network(network, rest, size).bytes : 0;
  return {.activations = std::max(plan.bytes, smaller),
          .parameters = parameter_bytes(parameter_table(network), settings.precision),
          .batches = settings.streams * settings.batch * (network.image.elements() + kLabel),
          .small = plan.statistics_count * kFloat + settings.batch * (kFloat + kLabel)};
}

nlohmann::ordered_json describe_need(const networks::Network& network, const Settings& settings) {
  const MemoryNeed need = memory_need(network, settings, 0);
  const NetworkPlan plan = plan_network(network, settings.batch, bytes_per_value(settings.precision));
  std::int64_t unshared = 0;
  for (const worker::Lifetime& buffer : plan.lifetimes) unshared += aligned(buffer.bytes);
  return {{"network", network.name},
          {"batch", settings.batch},
          {"precision", to_text(settings.precision)},
          {"activations_bytes", need.activations},
          {"least_activations_bytes", worker::least_bytes(plan.lifetimes, aligned)},
          {"unshared_activations_bytes", unshared},
          {"parameters_bytes", need.parameters},
          {"batches_bytes", need.batches},
          {"workspace_bytes_at_most", settings.workspace_mib << 20},
          {"total_bytes", need.total()}};
}

}  // namespace nocturne::cuda
