#pragma once

/// A network on the device for one batch size: its layers, and one step or one evaluation on a stream.

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cuda/fusion/fusion_choice.hpp"
#include "kernels/cuda/layers/device_layer.hpp"
#include "kernels/cuda/training/device_parameters.hpp"

namespace nocturne::cuda {

/// What became of a row that could be fused.
struct SettledFusion {
  std::string layer;
  FusionChoice choice;
};

class NetworkPass {
 public:
  /// `arena` has plan.bytes, `statistics` plan.statistics_count floats; both and the parameters outlive this.
  NetworkPass(const NetworkPlan& plan, const Settings& settings, std::byte* arena, float* statistics,
              const DeviceParameters& parameters);

  [[nodiscard]] std::int64_t batch() const { return batch_; }
  /// As DeviceLayer::choose, for all layers.
  void choose(const Pass& pass);
  /// Makes the graphs of all rows that can be fused; what cuDNN refuses is noted. After choose().
  void prepare_fusions(const Pass& pass);
  /// Tries each (fusion_trial.hpp). Spoils all tensors, parameters and statistics. REQUIRES: the pass has a workspace
  /// of workspace_bytes().
  void settle_fusions(const Pass& pass);
  /// In the order of the rows; empty: none was prepared.
  [[nodiscard]] const std::vector<SettledFusion>& fusions() const { return fusions_; }
  [[nodiscard]] std::int64_t workspace_bytes() const;
  [[nodiscard]] std::vector<Implementation> implementations() const;

  /// From the images, in the device's layout, to the logits.
  void forward(const RawImages& images, const Pass& pass);
  /// From the logits' activation gradient, which lies there, to all gradients.
  void backward(const Pass& pass);
  [[nodiscard]] const void* logits() const { return logits_; }
  [[nodiscard]] void* logits_gradient() const { return logits_gradient_; }

 private:
  std::int64_t batch_, image_count_;
  ChannelOrder image_order_;
  DataType type_;
  void* image_;
  void *logits_ = nullptr, *logits_gradient_ = nullptr;
  std::vector<LayerPlace> places_;  ///< by row, as layers_
  std::vector<std::unique_ptr<DeviceLayer>> layers_;
  std::vector<FusionGroup> groups_;
  std::vector<SettledFusion> fusions_;  ///< by group
};

}  // namespace nocturne::cuda
