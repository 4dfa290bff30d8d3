#include "kernels/cuda/fusion/fusion_choice.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <limits>

namespace nocturne::cuda {
namespace {

constexpr int kRounds = 5;

bool agrees(const Agreement& tensor, double tolerance) {
  return tensor.finite && tensor.largest_difference <= tolerance * tensor.largest_value;
}

bool agree(const std::vector<Agreement>& tensors, double tolerance) {
  return std::all_of(tensors.begin(), tensors.end(), [&](const Agreement& each) { return agrees(each, tolerance); });
}

template <typename... Values>
std::string formatted(const char* format, Values... values) {
  char text[160];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

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

double fusion_tolerance(Precision precision) {
  switch (precision) {
    case Precision::F32:
      break;
    case Precision::Tf32:
      return 1.0 / (1 << 8);
    case Precision::Bf16:
      return 1.0 / (1 << 6);
    case Precision::F16:
      return 1.0 / (1 << 9);
  }
  return 1.0 / (1 << 14);
}

FusionTrial try_fusion(const FusionWays& ways, Precision precision) {
  FusionTrial trial;
  ways.prepare();
  ways.apart();
  ways.keep();
  ways.prepare();
  try {
    ways.fused();
    trial.agreements = ways.compare();
    if (!agree(trial.agreements, fusion_tolerance(precision))) return trial;
    ways.poison();
    ways.fused();
    trial.hides_nan = ways.compare().front().finite;
  } catch (const std::exception& error) {
    trial.obstacle = error.what();
    return trial;
  }
  if (trial.hides_nan) return trial;
  ways.prepare();
  trial.apart_ms = trial.fused_ms = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) {  // in turn: clocks rise and fall
    trial.apart_ms = std::min(trial.apart_ms, ways.time(ways.apart));
    trial.fused_ms = std::min(trial.fused_ms, ways.time(ways.fused));
  }
  return trial;
}

FusionChoice choose_fusion(const FusionTrial& trial, Precision precision) {
  if (!trial.obstacle.empty()) return {false, trial.obstacle};
  const double tolerance = fusion_tolerance(precision);
  for (const Agreement& tensor : trial.agreements) {
    if (!tensor.finite) return {false, "refused: its result is not finite"};
    if (agrees(tensor, tolerance)) continue;
    return {false,
            formatted("refused: its result differs by %.2g where the largest value is %.2g; %.2g of it is allowed",
                      tensor.largest_difference, tensor.largest_value, tolerance)};
  }
  if (trial.hides_nan) return {false, "refused: it makes numbers of what is none"};
  const std::string times = formatted("%.4f ms, one by one %.4f ms", trial.fused_ms, trial.apart_ms);
  return {trial.fused_ms < trial.apart_ms, times};
}

std::vector<FusionGroup> fusion_groups(const NetworkPlan& plan) {
  std::vector<FusionGroup> groups;
  for (std::size_t row = 0; row < plan.rows.size(); ++row) {
    const networks::Layer& layer = *plan.rows[row].figures.layer;
    if (layer.kind != Kind::Convolution && layer.kind != Kind::Dense) continue;
    if (layer.bias || layer.relu)
      groups.push_back({.row = row, .normalisation = std::nullopt});
    else if (const auto reader = normalised_by(plan, row))
      groups.push_back({.row = row, .normalisation = reader});
  }
  return groups;
}

}  // namespace nocturne::cuda
