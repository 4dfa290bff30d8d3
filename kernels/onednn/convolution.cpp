/// Convolution, with bias and ReLU fused into forward.
///
/// Layouts are tried in an order, because oneDNN falls to reference loops for some of them: with AVX2 the weights'
/// gradient of a convolution of one input channel does so for a blocked difference, a hundred times slower than with a
/// plain difference, one reorder included.

#include "kernels/onednn/weighted_layer.hpp"

namespace nocturne::onednn {
namespace {

using dnnl::memory;
using Forward = dnnl::convolution_forward::primitive_desc;
using BackwardData = dnnl::convolution_backward_data::primitive_desc;
using BackwardWeights = dnnl::convolution_backward_weights::primitive_desc;

constexpr auto kDirect = dnnl::algorithm::convolution_direct;

// Layouts of one attempt: the tensor on the input's side and the one on the output's.
struct Sides {
  memory::desc input, output;
};

struct Geometry {
  explicit Geometry(const LayerPlace& place)
      : layer(*place.figures.layer),
        input{place.batch, place.figures.input.channels, place.figures.input.height, place.figures.input.width},
        output{place.batch, place.figures.output.channels, place.figures.output.height, place.figures.output.width},
        weights{output[1], input[1], layer.kernel, layer.kernel},
        biases{memory::dims{output[1]}, memory::data_type::f32, memory::format_tag::x},
        strides{layer.stride, layer.stride},
        padding{layer.padding, layer.padding} {}
  const networks::Layer& layer;
  memory::dims input, output, weights;
  memory::desc biases;
  memory::dims strides, padding;
};

std::vector<Sides> attempts(const LayerPlace& place, const Geometry& shape, const memory::desc& output) {
  const auto type = place.type();
  const Sides any{any_layout(shape.input, type), any_layout(shape.output, type)};
  const Sides given{place.input, output};
  const Sides last{channels_last(shape.input, type), channels_last(shape.output, type)};
  const Sides first{channels_first(shape.input, type), channels_first(shape.output, type)};
  if (place.layout == Layout::Plain) return {last, first, given, any};
  return {given, any, last, first};
}

template <typename Make>
dnnl::primitive_desc_base pick(const LayerPlace& place, const char* what, const std::vector<Sides>& sides, Make make) {
  std::vector<Candidate> candidates;
  for (const Sides& side : sides) candidates.push_back([side, make] { return make(side); });
  return choose(place.name() + " " + what + " (" + std::string(to_text(place.precision)) + ")", candidates);
}

}  // namespace

std::unique_ptr<PlannedLayer> plan_convolution(const LayerPlace& place) {
  const Geometry shape(place);
  const auto type = place.type();
  const memory::desc weights = any_layout(shape.weights, type);
  const memory::desc gradient = any_layout(shape.weights, memory::data_type::f32);
  const memory::desc free_output = any_layout(shape.output, type);

  Forward hint;
  WeightedPrimitives primitives;
  primitives.forward = pick(place, "forward", attempts(place, shape, free_output), [&](const Sides& sides) {
    return Forward(place.engine, dnnl::prop_kind::forward_training, kDirect, sides.input, weights, shape.biases,
                   sides.output, shape.strides, shape.padding, shape.padding, attributes(shape.layer.relu), true);
  });
  hint = Forward(primitives.forward.get());
  const std::vector<Sides> backward = attempts(place, shape, hint.dst_desc());
  primitives.backward_weights = pick(place, "backward weights", backward, [&](const Sides& sides) {
    return BackwardWeights(place.engine, kDirect, sides.input, gradient, shape.biases, sides.output, shape.strides,
                           shape.padding, shape.padding, hint, attributes(), true);
  });
  if (!place.first) {
    primitives.backward_data = pick(place, "backward data", backward, [&](const Sides& sides) {
      return BackwardData(place.engine, kDirect, sides.input, weights, sides.output, shape.strides, shape.padding,
                          shape.padding, hint, attributes(), true);
    });
  }
  return std::make_unique<WeightedLayer>(place, primitives);
}

}  // namespace nocturne::onednn
