/// Pooling. Forward of a maximum remembers where it was (oneDNN's workspace), so backward needs neither input nor
/// output; an average needs nothing.

#include "kernels/onednn/layers/weighted_layer.hpp"
#include "kernels/onednn/slices.hpp"

namespace nocturne::onednn {
namespace {

using dnnl::memory;
using PoolForward = dnnl::pooling_forward::primitive_desc;
using PoolBackward = dnnl::pooling_backward::primitive_desc;

class PoolLayer final : public PlannedLayer {
 public:
  explicit PoolLayer(const LayerPlace& place) : place_(place) {
    const networks::Layer& layer = *place.figures.layer;
    const networks::Shape& shape = place.figures.output;
    const memory::dims output{place.batch, shape.channels, shape.height, shape.width};
    const memory::dims kernel{layer.kernel, layer.kernel}, strides{layer.stride, layer.stride};
    const memory::dims padding{layer.padding, layer.padding}, dilation{0, 0};
    const std::string name = place.name() + " ", type_name = " (" + std::string(to_text(place.precision)) + ")";
    const auto algorithm = layer.kind == networks::Kind::MaxPool ? dnnl::algorithm::pooling_max
                                                                 : dnnl::algorithm::pooling_avg_include_padding;
    const auto forward = [&](const memory::desc& from, const memory::desc& to) {
      return PoolForward(place.engine, dnnl::prop_kind::forward_training, algorithm, from, to, strides, kernel,
                         dilation, padding, padding, attributes(), true);
    };
    const auto backward = [&](const memory::desc& from, const memory::desc& to, const PoolForward& hint) {
      return PoolBackward(place.engine, algorithm, from, to, strides, kernel, dilation, padding, padding, hint,
                          attributes(), true);
    };
    forward_ =
        choose(name + "forward" + type_name, {[&] { return forward(place.input, any_layout(output, place.type())); }});
    const PoolForward hint(forward_.get());
    backward_ = choose(name + "backward" + type_name, {[&] { return backward(place.input, hint.dst_desc(), hint); }});
    if (place.slices == 1 || !can_slice(place.input, place.slices) || !can_slice(hint.dst_desc(), place.slices)) return;
    const memory::desc from = slice_of(place.input, place.slices), to = slice_of(hint.dst_desc(), place.slices);
    const PoolForward forward_slice = forward(from, to);
    if (!forward_slice || !can_slice(hint.workspace_desc(), place.slices)) return;
    if (forward_slice.workspace_desc() != slice_of(hint.workspace_desc(), place.slices)) return;
    forward_slice_ = forward_slice;
    backward_slice_ = backward(from, to, forward_slice);
  }

  [[nodiscard]] memory::desc output() const override { return forward_.query_md(dnnl::query::dst_md); }

  [[nodiscard]] memory bind_forward(Builder& builder, const memory& input, const memory&) override {
    input_ = input;
    const memory result = builder.allocate(output());
    std::vector<std::pair<int, memory>> images = {{DNNL_ARG_SRC, input}, {DNNL_ARG_DST, result}};
    if (has_workspace()) {
      workspace_ = builder.allocate(forward_.query_md(dnnl::query::workspace_md));
      images.emplace_back(DNNL_ARG_WORKSPACE, workspace_);
    }
    if (forward_slice_)
      builder.add_slices("forward", forward_slice_, place_.slices, images, {});
    else
      builder.add_primitive("forward", forward_, images);
    return result;
  }

  [[nodiscard]] memory bind_backward(Builder& builder, const memory& activation_gradient) override {
    const memory read = builder.in_layout(activation_gradient, output(), "reorder activation gradient");
    // In slices the input's buffer may still be in the cache; otherwise better let somebody else have its bytes soon.
    const bool over_input = backward_slice_ && place_.input_is_free;
    const memory result = over_input ? input_ : builder.allocate(place_.input);
    std::vector<std::pair<int, memory>> images = {{DNNL_ARG_DIFF_DST, read}, {DNNL_ARG_DIFF_SRC, result}};
    if (has_workspace()) images.emplace_back(DNNL_ARG_WORKSPACE, workspace_);
    if (backward_slice_)
      builder.add_slices("backward", backward_slice_, place_.slices, images, {});
    else
      builder.add_primitive("backward", backward_, images);
    return result;
  }

 private:
  [[nodiscard]] bool has_workspace() const { return place_.figures.layer->kind == networks::Kind::MaxPool; }

  LayerPlace place_;
  dnnl::primitive_desc_base forward_, backward_;
  dnnl::primitive_desc_base forward_slice_, backward_slice_;  // empty: the whole batch at once
  memory input_, workspace_;
};

}  // namespace

std::unique_ptr<PlannedLayer> plan_pool(const LayerPlace& place) {
  return std::make_unique<PoolLayer>(place);
}

}  // namespace nocturne::onednn
