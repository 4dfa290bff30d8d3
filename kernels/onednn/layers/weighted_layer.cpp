#include "kernels/onednn/layers/weighted_layer.hpp"

namespace nocturne::onednn {
namespace {

using dnnl::query;

dnnl::memory::desc layout_of(const dnnl::primitive_desc_base& primitive, query what, int index = 0) {
  return primitive.query_md(what, index);
}

}  // namespace

dnnl::memory::desc WeightedLayer::output() const {
  return layout_of(primitives_.forward, query::dst_md);
}

std::vector<ParameterLayout> WeightedLayer::parameter_layouts() const {
  const networks::LayerFigures& figures = place_.figures;
  const std::int64_t window = figures.layer->kernel * figures.layer->kernel;
  const bool convolution = figures.layer->kind == networks::Kind::Convolution;
  ParameterLayout weights;
  weights.name = place_.name() + ".weights";
  weights.desc = layout_of(primitives_.backward_weights, query::diff_weights_md);
  weights.shape = weights.desc.get_dims();
  if (!convolution && figures.input.height == 1 && figures.input.width == 1) weights.shape.resize(2);
  weights.fan_in = convolution ? figures.input.channels * window : figures.input.elements();
  // Behind a convolution without biases stands a normalisation: only what comes in counts (parameters.hpp).
  if (has_biases()) weights.fan_out = convolution ? figures.output.channels * window : figures.output.elements();
  weights.decays = true;
  if (!has_biases()) return {weights};
  ParameterLayout biases;
  biases.name = place_.name() + ".biases";
  biases.desc = layout_of(primitives_.backward_weights, query::diff_weights_md, 1);
  biases.shape = biases.desc.get_dims();
  return {weights, biases};
}

void WeightedLayer::bind_refresh(Builder& builder, Parameters& parameters) {
  ParameterTensor& weights = parameters.tensor(place_.name() + ".weights");
  weights_gradient_ = weights.gradient;
  if (has_biases()) {
    ParameterTensor& biases = parameters.tensor(place_.name() + ".biases");
    biases_gradient_ = biases.gradient;
    biases_ = biases.value;
  }
  forward_weights_ =
      builder.in_layout(weights.value, layout_of(primitives_.forward, query::weights_md), "weights for forward");
  if (!primitives_.backward_data) return;
  const dnnl::memory::desc wanted = layout_of(primitives_.backward_data, query::weights_md);
  // From the forward copy where there is one: it is already of the right type, half the bytes for bf16.
  backward_weights_ = builder.in_layout(forward_weights_, wanted, "weights for backward");
}

dnnl::memory WeightedLayer::bind_forward(Builder& builder, const dnnl::memory& input, const dnnl::memory&) {
  input_ = builder.in_layout(input, layout_of(primitives_.forward, query::src_md), "reorder input");
  const dnnl::memory result = builder.allocate(output());
  const std::vector<std::pair<int, dnnl::memory>> images = {{DNNL_ARG_SRC, input_}, {DNNL_ARG_DST, result}};
  std::vector<std::pair<int, dnnl::memory>> shared = {{DNNL_ARG_WEIGHTS, forward_weights_}};
  if (has_biases()) shared.emplace_back(DNNL_ARG_BIAS, biases_);
  if (primitives_.forward_slice) {
    builder.add_slices("forward", primitives_.forward_slice, place_.slices, images, shared, flops());
  } else {
    std::vector<std::pair<int, dnnl::memory>> arguments = images;
    arguments.insert(arguments.end(), shared.begin(), shared.end());
    builder.add_primitive("forward", primitives_.forward, arguments, flops());
  }
  return result;
}

dnnl::memory WeightedLayer::bind_backward(Builder& builder, const dnnl::memory& activation_gradient) {
  if (primitives_.backward_data_slice) {
    const dnnl::memory result = bind_data_gradient(builder, activation_gradient);
    builder.divert(*place_.later);
    bind_weights_gradient(builder, activation_gradient);
    return result;
  }
  bind_weights_gradient(builder, activation_gradient);
  return primitives_.backward_data ? bind_data_gradient(builder, activation_gradient) : dnnl::memory();
}

dnnl::memory WeightedLayer::bind_data_gradient(Builder& builder, const dnnl::memory& activation_gradient) {
  const dnnl::memory read = builder.in_layout(
      activation_gradient, layout_of(primitives_.backward_data, query::diff_dst_md), "reorder activation gradient");
  const dnnl::memory result = builder.allocate(layout_of(primitives_.backward_data, query::diff_src_md));
  const std::vector<std::pair<int, dnnl::memory>> images = {{DNNL_ARG_DIFF_DST, read}, {DNNL_ARG_DIFF_SRC, result}};
  const std::pair<int, dnnl::memory> weights = {DNNL_ARG_WEIGHTS, backward_weights_};
  if (primitives_.backward_data_slice)
    builder.add_slices("backward data", primitives_.backward_data_slice, place_.slices, images, {weights}, flops());
  else
    builder.add_primitive("backward data", primitives_.backward_data, {images[0], images[1], weights}, flops());
  return result;
}

void WeightedLayer::bind_weights_gradient(Builder& builder, const dnnl::memory& activation_gradient) {
  const dnnl::primitive_desc_base& primitive = primitives_.backward_weights;
  const dnnl::memory source = builder.in_layout(input_, layout_of(primitive, query::src_md), "reorder input");
  const dnnl::memory read = builder.in_layout(activation_gradient, layout_of(primitive, query::diff_dst_md),
                                              "reorder activation gradient for weights");
  // The plan of an epoch's last, smaller batch may prefer another layout than the one the parameters lie in.
  const dnnl::memory::desc layout = layout_of(primitive, query::diff_weights_md);
  const bool direct = layout == weights_gradient_.get_desc();
  const dnnl::memory gradient = direct ? weights_gradient_ : builder.allocate(layout);
  std::vector<std::pair<int, dnnl::memory>> arguments = {
      {DNNL_ARG_SRC, source}, {DNNL_ARG_DIFF_DST, read}, {DNNL_ARG_DIFF_WEIGHTS, gradient}};
  if (has_biases()) arguments.emplace_back(DNNL_ARG_DIFF_BIAS, biases_gradient_);
  builder.add_primitive("backward weights", primitive, arguments, flops());
  if (!direct) builder.add_reorder("reorder gradient", gradient, weights_gradient_);
}

std::int64_t stored_count(const dnnl::memory::desc& desc) {
  return static_cast<std::int64_t>(desc.get_size() / dnnl::memory::data_type_size(desc.get_data_type()));
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
