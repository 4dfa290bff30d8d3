#pragma once

/// A network on the device for one batch size: its layers, and one step or one evaluation on a stream.

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cuda/device_layer.hpp"
#include "kernels/cuda/device_parameters.hpp"

namespace nocturne::cuda {

class NetworkPass {
 public:
  /// `arena` has plan.bytes, `statistics` plan.statistics_count floats; both and the parameters outlive this.
  NetworkPass(const NetworkPlan& plan, const Settings& settings, std::byte* arena, float* statistics,
              const DeviceParameters& parameters);

  [[nodiscard]] std::int64_t batch() const { return batch_; }
  /// As DeviceLayer::choose, for all layers.
  void choose(const Pass& pass);
  [[nodiscard]] std::int64_t workspace_bytes() const;
  [[nodiscard]] std::vector<Implementation> implementations() const;

  /// From the images, in the device's layout, to the logits.
  void forward(const RawImages& images, const Pass& pass);
  /// From the logits' difference, which lies there, to all gradients.
  void backward(const Pass& pass);
  [[nodiscard]] const void* logits() const { return logits_; }
  [[nodiscard]] void* logits_difference() const { return logits_difference_; }

 private:
  std::int64_t batch_, image_count_;
  ChannelOrder image_order_;
  DataType type_;
  void* image_;
  void *logits_ = nullptr, *logits_difference_ = nullptr;
  std::vector<std::unique_ptr<DeviceLayer>> layers_;
};

}  // namespace nocturne::cuda
