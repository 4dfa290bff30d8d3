#include "kernels/onednn/weighted_layer.hpp"

#include "kernels/onednn/elementwise.hpp"
#include "kernels/onednn/parallel.hpp"
#include "kernels/onednn/slices.hpp"

namespace nocturne::onednn {
namespace {

using dnnl::query;

dnnl::memory::desc layout_of(const dnnl::primitive_desc_base& primitive, query what, int index = 0) {
  return primitive.query_md(what, index);
}

// Elements in memory, padding included.
std::int64_t stored_count(const dnnl::memory& memory, Precision precision) {
  return static_cast<std::int64_t>(memory.get_desc().get_size()) / (precision == Precision::F32 ? 4 : 2);
}

template <typename T>
void add_gate(Builder& builder, const dnnl::memory& difference, const dnnl::memory& output, std::int64_t count,
              std::int64_t slice) {
  T* gated = static_cast<T*>(difference.get_data_handle());
  const T* values = static_cast<const T*>(output.get_data_handle());
  const auto gate = [gated, values, count](const StepContext&) {
    parallel_for(count, 1 << 15,
                 [=](std::int64_t begin, std::int64_t end) { gate_relu(gated + begin, values + begin, end - begin); });
  };
  builder.add_loop("ReLU gate", gate, slice);
}

}  // namespace

dnnl::memory::desc WeightedLayer::output() const {
  return layout_of(primitives_.forward, query::dst_md);
}

std::vector<ParameterLayout> WeightedLayer::parameter_layouts() const {
  const networks::LayerFigures& figures = place_.figures;
  const std::int64_t window = figures.layer->kernel * figures.layer->kernel;
  const bool convolution = figures.layer->kind == networks::Kind::Convolution;
  const std::int64_t fan_in = convolution ? figures.input.channels * window : figures.input.elements();
  const std::int64_t fan_out = convolution ? figures.output.channels * window : figures.output.elements();
  return {
      {place_.name() + ".weights", layout_of(primitives_.backward_weights, query::diff_weights_md), fan_in, fan_out},
      {place_.name() + ".biases", layout_of(primitives_.backward_weights, query::diff_weights_md, 1), 0, 0}};
}

void WeightedLayer::bind_refresh(Builder& builder, Parameters& parameters) {
  ParameterTensor& weights = parameters.tensor(place_.name() + ".weights");
  ParameterTensor& biases = parameters.tensor(place_.name() + ".biases");
  weights_gradient_ = weights.gradient;
  biases_gradient_ = biases.gradient;
  biases_ = biases.value;
  forward_weights_ =
      builder.in_layout(weights.value, layout_of(primitives_.forward, query::weights_md), "weights for forward");
  if (!primitives_.backward_data) return;
  const dnnl::memory::desc wanted = layout_of(primitives_.backward_data, query::weights_md);
  // From the forward copy where there is one: it is already of the right type, half the bytes for bf16.
  backward_weights_ = builder.in_layout(forward_weights_, wanted, "weights for backward");
}

dnnl::memory WeightedLayer::bind_forward(Builder& builder, const dnnl::memory& input) {
  input_ = builder.in_layout(input, layout_of(primitives_.forward, query::src_md), "reorder input");
  output_ = builder.allocate(output());
  const std::vector<std::pair<int, dnnl::memory>> images = {{DNNL_ARG_SRC, input_}, {DNNL_ARG_DST, output_}};
  const std::vector<std::pair<int, dnnl::memory>> shared = {{DNNL_ARG_WEIGHTS, forward_weights_},
                                                            {DNNL_ARG_BIAS, biases_}};
  if (primitives_.forward_slice) {
    builder.add_slices("forward", primitives_.forward_slice, place_.slices, images, shared);
  } else {
    builder.add_primitive("forward", primitives_.forward, {images[0], images[1], shared[0], shared[1]});
  }
  return output_;
}

dnnl::memory WeightedLayer::bind_backward(Builder& builder, const dnnl::memory& difference) {
  dnnl::memory gated = difference;
  if (place_.gates_relu) {
    gated = builder.in_layout(difference, output(), "reorder difference");
    bind_gate(builder, gated);
  }
  if (primitives_.backward_data_slice) {
    const dnnl::memory result = bind_data_difference(builder, gated);
    builder.divert(*place_.later);
    bind_weights_gradient(builder, gated);
    return result;
  }
  bind_weights_gradient(builder, gated);
  return primitives_.backward_data ? bind_data_difference(builder, gated) : dnnl::memory();
}

void WeightedLayer::bind_gate(Builder& builder, const dnnl::memory& difference) {
  const std::int64_t slices = can_slice(output(), place_.slices) ? place_.slices : 1;
  for (std::int64_t i = 0; i < slices; ++i) {
    const dnnl::memory gated = slice_of(difference, slices, i), values = slice_of(output_, slices, i);
    const std::int64_t count = stored_count(values, place_.precision), slice = slices > 1 ? i : -1;
    if (place_.precision == Precision::F32) {
      add_gate<float>(builder, gated, values, count, slice);
    } else {
      add_gate<Bfloat16>(builder, gated, values, count, slice);
    }
  }
}

dnnl::memory WeightedLayer::bind_data_difference(Builder& builder, const dnnl::memory& difference) {
  const dnnl::memory read =
      builder.in_layout(difference, layout_of(primitives_.backward_data, query::diff_dst_md), "reorder difference");
  const dnnl::memory result = builder.allocate(layout_of(primitives_.backward_data, query::diff_src_md));
  const std::vector<std::pair<int, dnnl::memory>> images = {{DNNL_ARG_DIFF_DST, read}, {DNNL_ARG_DIFF_SRC, result}};
  const std::pair<int, dnnl::memory> weights = {DNNL_ARG_WEIGHTS, backward_weights_};
  if (primitives_.backward_data_slice) {
    builder.add_slices("backward data", primitives_.backward_data_slice, place_.slices, images, {weights});
  } else {
    builder.add_primitive("backward data", primitives_.backward_data, {images[0], images[1], weights});
  }
  return result;
}

void WeightedLayer::bind_weights_gradient(Builder& builder, const dnnl::memory& difference) {
  const dnnl::primitive_desc_base& primitive = primitives_.backward_weights;
  const dnnl::memory source = builder.in_layout(input_, layout_of(primitive, query::src_md), "reorder input");
  const dnnl::memory read =
      builder.in_layout(difference, layout_of(primitive, query::diff_dst_md), "reorder difference for weights");
  // The plan of an epoch's last, smaller batch may prefer another layout than the one the parameters lie in.
  const dnnl::memory::desc layout = layout_of(primitive, query::diff_weights_md);
  const bool direct = layout == weights_gradient_.get_desc();
  const dnnl::memory gradient = direct ? weights_gradient_ : builder.allocate(layout);
  builder.add_primitive("backward weights", primitive,
                        {{DNNL_ARG_SRC, source},
                         {DNNL_ARG_DIFF_DST, read},
                         {DNNL_ARG_DIFF_WEIGHTS, gradient},
                         {DNNL_ARG_DIFF_BIAS, biases_gradient_}});
  if (!direct) builder.add_reorder("reorder gradient", gradient, weights_gradient_);
}

dnnl::memory::desc any_layout(const dnnl::memory::dims& dims, dnnl::memory::data_type type) {
  return {dims, type, dnnl::memory::format_tag::any};
}

dnnl::memory::desc channels_last(const dnnl::memory::dims& dims, dnnl::memory::data_type type) {
  return {dims, type, dims.size() == 4 ? dnnl::memory::format_tag::nhwc : dnnl::memory::format_tag::nc};
}

dnnl::memory::desc channels_first(const dnnl::memory::dims& dims, dnnl::memory::data_type type) {
  return {dims, type, dims.size() == 4 ? dnnl::memory::format_tag::nchw : dnnl::memory::format_tag::nc};
}

}  // namespace nocturne::onednn
