#include "kernels/cuda/fusion/fusion_groups.hpp"

namespace nocturne::cuda {
namespace {

using networks::Kind;

std::optional<std::size_t> normalised_by(const NetworkPlan& plan, std::size_t row) {
  for (std::size_t reader = row + 1; reader < plan.rows.size(); ++reader) {
    const networks::LayerFigures& figures = plan.rows[reader].figures;
    if (figures.layer->kind != Kind::BatchNormalisation) continue;
    if (figures.source == static_cast<std::int64_t>(row)) return reader;
  }
  return std::nullopt;
}

}  // namespace

std::vector<FusionGroup> fusion_groups(const NetworkPlan& plan) {
  std::vector<FusionGroup> groups;
  for (std::size_t row = 0; row < plan.rows.size(); ++row) {
    const networks::Layer& layer = *plan.rows[row].figures.layer;
    if (layer.kind != Kind::Convolution && layer.kind != Kind::Dense) continue;
    if (layer.bias || layer.relu) {
      groups.push_back({.row = row, .normalisation = std::nullopt});
    } else if (const auto reader = normalised_by(plan, row)) {
      groups.push_back({.row = row, .normalisation = reader});
    }
  }
  return groups;
}

}  // namespace nocturne::cuda
