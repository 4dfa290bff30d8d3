/// Convolution, with bias (if it has one) and ReLU fused into forward.
///
/// Layouts are tried in an order, because oneDNN falls to reference loops for some of them: with AVX2 the weights'
/// gradient of a convolution of one input channel does so for a blocked activation gradient, a hundred times slower
/// than with a plain activation gradient, one reorder included.

#include "kernels/onednn/layers/weighted_layer.hpp"
#include "kernels/onednn/slices.hpp"

namespace nocturne::onednn {
namespace {

using dnnl::memory;
using ConvolutionForward = dnnl::convolution_forward::primitive_desc;
using ConvolutionBackwardData = dnnl::convolution_backward_data::primitive_desc;
using ConvolutionBackwardWeights = dnnl::convolution_backward_weights::primitive_desc;

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
        biases(layer.bias ? memory::desc(memory::dims{output[1]}, memory::data_type::f32, memory::format_tag::x)
                          : memory::desc()),
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
  for (const Sides& side : sides) candidates.emplace_back([side, make] { return make(side); });
  return choose(place.name() + " " + what + " (" + std::string(to_text(place.precision)) + ")", candidates);
}

// The forward primitive, or the backward one, on one slice of the batch, in the layouts chosen for the whole. Empty
// where the images of a slice do not lie together, or oneDNN would run reference code.
template <typename Make>
dnnl::primitive_desc_base pick_slice(const LayerPlace& place, const Sides& whole, Make make) {
  const std::int64_t slices = place.slices;
  if (slices == 1 || !can_slice(whole.input, slices) || !can_slice(whole.output, slices)) return {};
  const dnnl::primitive_desc_base found = make({slice_of(whole.input, slices), slice_of(whole.output, slices)});
  return found && !is_reference(found.impl_info_str()) ? found : dnnl::primitive_desc_base();
}

}  // namespace

std::unique_ptr<PlannedLayer> plan_convolution(const LayerPlace& place) {
  const Geometry shape(place);
  const auto type = place.type();
  const memory::desc weights = any_layout(shape.weights, type);
  const memory::desc gradient = any_layout(shape.weights, memory::data_type::f32);

  WeightedPrimitives primitives;
  const auto forward = [&](const Sides& sides, const memory::desc& layout) {
    return ConvolutionForward(place.engine, dnnl::prop_kind::forward_training, kDirect, sides.input, layout,
                              shape.biases, sides.output, shape.strides, shape.padding, shape.padding,
                              attributes(shape.layer.relu), true);
  };
  primitives.forward = pick(place, "forward", attempts(place, shape, any_layout(shape.output, type)),
                            [&](const Sides& sides) { return forward(sides, weights); });
  const ConvolutionForward hint(primitives.forward.get());
  const Sides chosen{hint.src_desc(), hint.dst_desc()};
  primitives.forward_slice =
      pick_slice(place, chosen, [&](const Sides& sides) { return forward(sides, hint.weights_desc()); });

  const std::vector<Sides> sides_backward = attempts(place, shape, hint.dst_desc());
  primitives.backward_weights = pick(place, "backward weights", sides_backward, [&](const Sides& sides) {
    return ConvolutionBackwardWeights(place.engine, kDirect, sides.input, gradient, shape.biases, sides.output,
                                      shape.strides, shape.padding, shape.padding, hint, attributes(), true);
  });
  if (place.first) return std::make_unique<WeightedLayer>(place, primitives);

  const auto backward = [&](const Sides& sides, const memory::desc& layout, const ConvolutionForward& like) {
    return ConvolutionBackwardData(place.engine, kDirect, sides.input, layout, sides.output, shape.strides,
                                   shape.padding, shape.padding, like, attributes(), true);
  };
  primitives.backward_data =
      pick(place, "backward data", sides_backward, [&](const Sides& sides) { return backward(sides, weights, hint); });
  if (primitives.forward_slice) {
    const ConvolutionBackwardData whole(primitives.backward_data.get());
    const ConvolutionForward like(primitives.forward_slice.get());
    primitives.backward_data_slice =
        pick_slice(place, {whole.diff_src_desc(), whole.diff_dst_desc()},
                   [&](const Sides& sides) { return backward(sides, whole.weights_desc(), like); });
  }
  return std::make_unique<WeightedLayer>(place, primitives);
}

}  // namespace nocturne::onednn
