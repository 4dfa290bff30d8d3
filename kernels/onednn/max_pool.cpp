/// Max-pooling. Forward remembers where each maximum was (oneDNN's workspace), so backward needs neither input nor
/// output.

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
    forward_ = choose(name + "forward" + type_name, {[&] {
                        return Forward(place.engine, dnnl::prop_kind::forward_training, kMax, place.input,
                                       any_layout(output, place.type()), strides, kernel, dilation, padding, padding,
                                       attributes(), true);
                      }});
    const Forward hint(forward_.get());
    backward_ = choose(name + "backward" + type_name, {[&] {
                         return Backward(place.engine, kMax, place.input, hint.dst_desc(), strides, kernel, dilation,
                                         padding, padding, hint, attributes(), true);
                       }});
  }

  [[nodiscard]] memory::desc output() const override { return forward_.query_md(dnnl::query::dst_md); }

  [[nodiscard]] memory bind_forward(Builder& builder, const memory& input) override {
    input_ = input;
    workspace_ = builder.allocate(forward_.query_md(dnnl::query::workspace_md));
    const memory result = builder.allocate(output());
    builder.add_primitive("forward", forward_,
                          {{DNNL_ARG_SRC, input}, {DNNL_ARG_DST, result}, {DNNL_ARG_WORKSPACE, workspace_}});
    return result;
  }

  [[nodiscard]] memory bind_backward(Builder& builder, const memory& difference) override {
    const memory read = builder.in_layout(difference, output(), "reorder difference");
    const memory result = place_.input_is_free ? input_ : builder.allocate(place_.input);
    builder.add_primitive("backward", backward_,
                          {{DNNL_ARG_DIFF_DST, read}, {DNNL_ARG_DIFF_SRC, result}, {DNNL_ARG_WORKSPACE, workspace_}});
    return result;
  }

 private:
  LayerPlace place_;
  dnnl::primitive_desc_base forward_, backward_;
  memory input_, workspace_;
};

}  // namespace

std::unique_ptr<PlannedLayer> plan_max_pool(const LayerPlace& place) {
  return std::make_unique<MaxPoolLayer>(place);
}

}  // namespace nocturne::onednn
