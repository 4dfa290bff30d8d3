#include "kernels/cuda/training/network_pass.hpp"

#include <algorithm>
#include <ranges>

#include "kernels/cuda/fusion/fusion_trial.hpp"
#include "kernels/worker/refusal.hpp"

namespace nocturne::cuda {

NetworkPass::NetworkPass(const NetworkPlan& plan, const Settings& settings, std::byte* arena, float* statistics,
                         const DeviceParameters& parameters)
    : batch_(plan.batch),
      image_count_(plan.batch * plan.rows.front().figures.input.elements()),
      image_order_(channel_order(plan.rows.front().figures.input, settings.layout)),
      type_(data_type(settings.precision)),
      image_(arena + plan.image),
      logits_(arena + plan.rows.back().output),
      logits_gradient_(arena + plan.rows.back().activation_gradient),
      groups_(fusion_groups(plan)) {
  const auto output_of = [&](std::int64_t row) -> void* {
    return row < 0 ? image_ : arena + plan.rows[static_cast<std::size_t>(row)].output;
  };
  const auto gradient_of = [&](std::int64_t row) -> void* {
    return row < 0 ? nullptr : arena + plan.rows[static_cast<std::size_t>(row)].activation_gradient;
  };
  for (std::size_t row = 0; row < plan.rows.size(); ++row) {
    const RowPlan& planned = plan.rows[row];
    LayerPlace place{.row = row, .plan = planned, .batch = plan.batch, .settings = settings};
    place.input = output_of(planned.figures.source);
    place.input_gradient = gradient_of(planned.figures.source);
    if (planned.figures.layer->kind == networks::Kind::Add) {
      place.input2 = output_of(planned.figures.source2);
      place.input_gradient2 = gradient_of(planned.figures.source2);
    }
    place.output = arena + planned.output;
    place.activation_gradient = arena + planned.activation_gradient;
    if (const ParameterTensor* leading = parameters.table().of_row(row, true)) {
      place.weights = parameters.values(*leading);
      place.weights_gradient = parameters.gradient(*leading);
    }
    if (const ParameterTensor* following = parameters.table().of_row(row, false)) {
      place.biases = parameters.values(*following);
      place.biases_gradient = parameters.gradient(*following);
    }
    if (planned.statistics >= 0) place.statistics = statistics + planned.statistics;
    places_.push_back(place);
  }
  for (const FusionGroup& group : groups_)
    if (group.normalisation) places_[group.row].statistics = places_[*group.normalisation].statistics;
  for (const LayerPlace& place : places_) layers_.push_back(make_layer(place));
}

void NetworkPass::choose(const Pass& pass) {
  for (const auto& layer : layers_) layer->choose(pass);
}

void NetworkPass::prepare_fusions(const Pass& pass) {
  for (const FusionGroup& group : groups_) {
    SettledFusion fusion{.layer = std::string(places_[group.row].layer().name), .choice = {}};
    try {
      layers_[group.row]->prepare_fusion(pass);
    } catch (const worker::Unsupported& error) {
      fusion.choice.reason = error.what();
    }
    fusions_.push_back(std::move(fusion));
  }
}

void NetworkPass::settle_fusions(const Pass& pass) {
  for (std::size_t i = 0; i < fusions_.size(); ++i) {
    if (!fusions_[i].choice.reason.empty()) continue;  // there is no graph
    const FusionGroup& group = groups_[i];
    FusedRows rows{.weighted = layers_[group.row].get(), .weighted_place = &places_[group.row]};
    if (group.normalisation) {
      rows.normalisation = layers_[*group.normalisation].get();
      rows.normalisation_place = &places_[*group.normalisation];
    }
    fusions_[i].choice = settle_fusion(rows, pass);
  }
}

std::int64_t NetworkPass::workspace_bytes() const {
  std::int64_t most = 0;
  for (const auto& layer : layers_) most = std::max(most, layer->workspace_bytes());
  return most;
}

std::vector<Implementation> NetworkPass::implementations() const {
  std::vector<Implementation> all;
  for (const auto& layer : layers_)
    for (Implementation& each : layer->implementations()) all.push_back(std::move(each));
  return all;
}

void NetworkPass::forward(const RawImages& images, const Pass& pass) {
  launch_scale(images, image_, type_, image_count_, image_order_, pass.stream);
  for (const auto& layer : layers_) layer->forward(pass);
}

void NetworkPass::backward(const Pass& pass) {
  for (const auto& layer : std::views::reverse(layers_)) layer->backward(pass);
}

}  // namespace nocturne::cuda
