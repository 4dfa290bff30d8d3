/// Dense layer, with bias and ReLU fused into forward. It reads its input as the tensor it is, (N, C, H, W) in whatever
/// layout the row above chose: flattening is a matter of the order of the weights, not a copy.

#include "kernels/onednn/layers/weighted_layer.hpp"

namespace nocturne::onednn {
namespace {

using dnnl::memory;
using DenseForward = dnnl::inner_product_forward::primitive_desc;
using DenseBackwardData = dnnl::inner_product_backward_data::primitive_desc;
using DenseBackwardWeights = dnnl::inner_product_backward_weights::primitive_desc;

}  // namespace

std::unique_ptr<PlannedLayer> plan_dense(const LayerPlace& place) {
  const auto type = place.type();
  const std::int64_t outputs = place.figures.output.channels;
  const memory::dims input = place.input.get_dims();
  memory::dims weight_dims = input;
  weight_dims[0] = outputs;
  const memory::dims output_dims{place.batch, outputs};
  const memory::desc biases = place.figures.biases > 0
                                  ? memory::desc({outputs}, memory::data_type::f32, memory::format_tag::x)
                                  : memory::desc();
  const memory::desc weights = any_layout(weight_dims, type);
  const memory::desc gradient = any_layout(weight_dims, memory::data_type::f32);
  // The loss reads logits in f32 whatever the precision; their activation gradient has the activations' type again.
  const memory::desc output(output_dims, place.last ? memory::data_type::f32 : type, memory::format_tag::nc);
  const memory::desc activation_gradient(output_dims, type, memory::format_tag::nc);
  const std::vector<memory::desc> inputs = {place.input, any_layout(input, type)};
  const bool relu = place.figures.layer->relu;
  const std::string name = place.name() + " ", type_name = " (" + std::string(to_text(place.precision)) + ")";

  std::vector<Candidate> forward, backward_data, backward_weights;
  for (const memory::desc& source : inputs) {
    forward.emplace_back([&] {
      return DenseForward(place.engine, dnnl::prop_kind::forward_training, source, weights, biases, output,
                          attributes(relu), true);
    });
  }
  WeightedPrimitives primitives;
  primitives.forward = choose(name + "forward" + type_name, forward);
  const DenseForward hint(primitives.forward.get());
  for (const memory::desc& source : inputs) {
    backward_weights.emplace_back([&] {
      return DenseBackwardWeights(place.engine, source, gradient, biases, activation_gradient, hint, attributes(),
                                  true);
    });
    // The forward layout first: then one copy of the weights serves both.
    for (const memory::desc& layout : {hint.weights_desc(), weights}) {
      backward_data.emplace_back([&, layout] {
        return DenseBackwardData(place.engine, source, layout, activation_gradient, hint, attributes(), true);
      });
    }
  }
  primitives.backward_weights = choose(name + "backward weights" + type_name, backward_weights);
  if (!place.first) primitives.backward_data = choose(name + "backward data" + type_name, backward_data);
  return std::make_unique<WeightedLayer>(place, primitives);
}

}  // namespace nocturne::onednn
