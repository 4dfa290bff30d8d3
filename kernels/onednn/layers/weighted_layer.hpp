#pragma once

/// What convolution and dense layers have in common: weights, perhaps biases, a ReLU fused into forward, three
/// primitives.

#include <utility>

#include "kernels/onednn/layers/planned_layer.hpp"

namespace nocturne::onednn {

struct WeightedPrimitives {
  dnnl::primitive_desc_base forward;
  dnnl::primitive_desc_base backward_data;  ///< empty for the first row
  dnnl::primitive_desc_base backward_weights;
  /// The same on one slice of the batch; empty: run on the whole.
  dnnl::primitive_desc_base forward_slice, backward_data_slice;
};

/// Master weights lie in the layout of their gradient, so that the optimizer's loop needs no reorder; forward and
/// backward data read copies where they want another layout or type.
class WeightedLayer final : public PlannedLayer {
 public:
  WeightedLayer(LayerPlace place, WeightedPrimitives primitives)
      : place_(std::move(place)), primitives_(std::move(primitives)) {}

  [[nodiscard]] dnnl::memory::desc output() const override;
  [[nodiscard]] std::vector<ParameterLayout> parameter_layouts() const override;
  void bind_refresh(Builder& builder, Parameters& parameters) override;
  [[nodiscard]] dnnl::memory bind_forward(Builder& builder, const dnnl::memory& input,
                                          const dnnl::memory& input2) override;
  [[nodiscard]] dnnl::memory bind_backward(Builder& builder, const dnnl::memory& activation_gradient) override;

 private:
  [[nodiscard]] bool has_biases() const { return place_.figures.biases > 0; }
  [[nodiscard]] std::int64_t flops() const {
    return place_.figures.forward_flops * place_.batch;
  }  ///< operations of one primitive
  [[nodiscard]] dnnl::memory bind_data_gradient(Builder& builder, const dnnl::memory& activation_gradient);
  void bind_weights_gradient(Builder& builder, const dnnl::memory& activation_gradient);

  LayerPlace place_;
  WeightedPrimitives primitives_;
  dnnl::memory input_;
  dnnl::memory forward_weights_, backward_weights_, biases_;
  dnnl::memory weights_gradient_, biases_gradient_;
};

/// Values in memory, padding included.
[[nodiscard]] std::int64_t stored_count(const dnnl::memory::desc& desc);

/// Descriptors by shape alone: "any" leaves the layout to the primitive, the others fix it.
[[nodiscard]] dnnl::memory::desc any_layout(const dnnl::memory::dims& dims, dnnl::memory::data_type type);
[[nodiscard]] dnnl::memory::desc channels_last(const dnnl::memory::dims& dims, dnnl::memory::data_type type);
[[nodiscard]] dnnl::memory::desc channels_first(const dnnl::memory::dims& dims, dnnl::memory::data_type type);

}  // namespace nocturne::onednn
