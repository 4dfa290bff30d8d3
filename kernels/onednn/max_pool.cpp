/// Max-pooling. Forward remembers where each maximum was (oneDNN's workspace), so backward needs neither input nor
/// output.

#include "kernels/onednn/slices.hpp"
#include "kernels/onednn/weighted_layer.hpp"

namespace nocturne::onednn {
namespace {

using dnnl::memory;
using Forward = dnnl::pooling_forward::primitive_desc;
using Backward = dnnl::pooling_backward::primitive_desc;

class MaxPoolLayer final : public PlannedLayer {
 public:
  explicit MaxPoolLayer(const LayerPlace& place) : place_(place) {
    const networks::Layer& layer = *place.figures.layer;
    const networks::Shape& shape = place.figures.output;
    const memory::dims output{place.batch, shape.channels, shape.height, shape.width};
    const memory::dims kernel{layer.kernel, layer.kernel}, strides{layer.stride, layer.stride};
    const memory::dims padding{layer.padding, layer.padding}, dilation{0, 0};
    const std::string name = place.name() + " ", type_name = " (" + std::string(to_text(place.precision)) + ")";
    constexpr auto kMax = dnnl::algorithm::pooling_max;
    const auto forward = [&](const memory::desc& from, const memory::desc& to) {
      return Forward(place.engine, dnnl::prop_kind::forward_training, kMax, from, to, strides, kernel, dilation,
                     padding, padding, attributes(), true);
    };
    const auto backward = [&](const memory::desc& from, const memory::desc& to, const Forward& hint) {
      return Backward(place.engine, kMax, from, to, strides, kernel, dilation, padding, padding, hint, attributes(),
                      true);
    };
    forward_ =
        choose(name + "forward" + type_name, {[&] { return forward(place.input, any_layout(output, place.type())); }});
    const Forward hint(forward_.get());
    backward_ = choose(name + "backward" + type_name, {[&] { return backward(place.input, hint.dst_desc(), hint); }});
    if (place.slices == 1 || !can_slice(place.input, place.slices) || !can_slice(hint.dst_desc(), place.slices)) return;
    const memory::desc from = slice_of(place.input, place.slices), to = slice_of(hint.dst_desc(), place.slices);
    const Forward forward_slice = forward(from, to);
    if (!forward_slice || !can_slice(hint.workspace_desc(), place.slices)) return;
    if (forward_slice.workspace_desc() != slice_of(hint.workspace_desc(), place.slices)) return;
    forward_slice_ = forward_slice;
    backward_slice_ = backward(from, to, forward_slice);
  }

  [[nodiscard]] memory::desc output() const override { return forward_.query_md(dnnl::query::dst_md); }

  [[nodiscard]] memory bind_forward(Builder& builder, const memory& input) override {
    input_ = input;
    workspace_ = builder.allocate(forward_.query_md(dnnl::query::workspace_md));
    const memory result = builder.allocate(output());
    const std::vector<std::pair<int, memory>> images = {
        {DNNL_ARG_SRC, input}, {DNNL_ARG_DST, result}, {DNNL_ARG_WORKSPACE, workspace_}};
    if (forward_slice_) {
      builder.add_slices("forward", forward_slice_, place_.slices, images, {});
    } else {
      builder.add_primitive("forward", forward_, images);
    }
    return result;
  }

  [[nodiscard]] memory bind_backward(Builder& builder, const memory& difference) override {
    const memory read = builder.in_layout(difference, output(), "reorder difference");
    const memory result = place_.input_is_free ? input_ : builder.allocate(place_.input);
    const std::vector<std::pair<int, memory>> images = {
        {DNNL_ARG_DIFF_DST, read}, {DNNL_ARG_DIFF_SRC, result}, {DNNL_ARG_WORKSPACE, workspace_}};
    if (backward_slice_) {
      builder.add_slices("backward", backward_slice_, place_.slices, images, {});
    } else {
      builder.add_primitive("backward", backward_, images);
    }
    return result;
  }

 private:
  LayerPlace place_;
  dnnl::primitive_desc_base forward_, backward_;
  dnnl::primitive_desc_base forward_slice_, backward_slice_;  // empty: the whole batch at once
  memory input_, workspace_;
};

}  // namespace

std::unique_ptr<PlannedLayer> plan_max_pool(const LayerPlace& place) {
  return std::make_unique<MaxPoolLayer>(place);
}

}  // namespace nocturne::onednn
