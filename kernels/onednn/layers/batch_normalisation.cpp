/// Batch normalisation, with its ReLU fused: forward keeps one bit a value, which backward reads as the gate.
///
/// Scale, shift, mean and variance are f32 whatever the precision. In training the batch's own mean and variance are
/// used, and move the running averages (network.hpp has the formula); an evaluation uses those instead.

#include <algorithm>
#include <utility>

#include "kernels/onednn/layers/planned_layer.hpp"

namespace nocturne::onednn {
namespace {

using dnnl::memory;
using NormalisationForward = dnnl::batch_normalization_forward::primitive_desc;
using NormalisationBackward = dnnl::batch_normalization_backward::primitive_desc;
using Flags = dnnl::normalization_flags;

constexpr auto kEpsilon = static_cast<float>(networks::kNormalisationEpsilon);

// Moves the running averages of `channels` by one batch of `count` values each.
void move_averages(float* mean, float* variance, const float* batch_mean, const float* batch_variance,
                   std::int64_t channels, std::int64_t count) {
  constexpr auto kMomentum = static_cast<float>(networks::kRunningAverageMomentum);
  const float unbiased = static_cast<float>(count) / static_cast<float>(std::max<std::int64_t>(1, count - 1));
  for (std::int64_t i = 0; i < channels; ++i) {
    mean[i] += kMomentum * (batch_mean[i] - mean[i]);
    variance[i] += kMomentum * (batch_variance[i] * unbiased - variance[i]);
  }
}

class BatchNormalisationLayer final : public PlannedLayer {
 public:
  explicit BatchNormalisationLayer(LayerPlace place)
      : place_(std::move(place)),
        vector_({place_.figures.output.channels}, memory::data_type::f32, memory::format_tag::x) {
    const memory::desc& layout = place_.input;
    const std::string name = place_.name() + " ", type_name = " (" + std::string(to_text(place_.precision)) + ")";
    Flags flags = Flags::use_scale | Flags::use_shift;
    if (relu()) flags = flags | Flags::fuse_norm_relu;
    forward_ = choose(name + "forward" + type_name, {[&] {
                        return NormalisationForward(place_.engine, dnnl::prop_kind::forward_training, layout, layout,
                                                    kEpsilon, flags, attributes(), true);
                      }});
    evaluation_ =
        choose(name + "evaluation" + type_name, {[&] {
                 return NormalisationForward(place_.engine, dnnl::prop_kind::forward_inference, layout, layout,
                                             kEpsilon, flags | Flags::use_global_stats, attributes(), true);
               }});
    const NormalisationForward hint(forward_.get());
    backward_ = choose(name + "backward" + type_name, {[&] {
                         return NormalisationBackward(place_.engine, dnnl::prop_kind::backward, layout, layout, layout,
                                                      kEpsilon, flags, hint, attributes(), true);
                       }});
  }

  [[nodiscard]] memory::desc output() const override { return place_.input; }

  [[nodiscard]] std::vector<ParameterLayout> parameter_layouts() const override {
    std::vector<ParameterLayout> all(4);
    const char* const names[] = {".scale", ".shift", ".mean", ".variance"};
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].name = place_.name() + names[i];
      all[i].desc = vector_;
      all[i].shape = vector_.get_dims();
      all[i].constant = i == 0 || i == 3 ? 1.0F : 0.0F;
      all[i].trained = i < 2;
    }
    return all;
  }

  void bind_refresh(Builder&, Parameters& parameters) override {
    scale_ = parameters.tensor(place_.name() + ".scale");
    shift_ = parameters.tensor(place_.name() + ".shift");
    running_mean_ = parameters.tensor(place_.name() + ".mean").value;
    running_variance_ = parameters.tensor(place_.name() + ".variance").value;
  }

  [[nodiscard]] memory bind_forward(Builder& builder, const memory& input, const memory&) override {
    input_ = input;
    mean_ = builder.allocate(vector_);
    variance_ = builder.allocate(vector_);
    const memory result = builder.allocate(output());
    std::vector<std::pair<int, memory>> arguments = {{DNNL_ARG_SRC, input},          {DNNL_ARG_DST, result},
                                                     {DNNL_ARG_SCALE, scale_.value}, {DNNL_ARG_SHIFT, shift_.value},
                                                     {DNNL_ARG_MEAN, mean_},         {DNNL_ARG_VARIANCE, variance_}};
    if (relu()) {
      workspace_ = builder.allocate(forward_.query_md(dnnl::query::workspace_md));
      arguments.emplace_back(DNNL_ARG_WORKSPACE, workspace_);
    }
    add_moving(builder, arguments);
    builder.add_primitive("evaluation", evaluation_,
                          {{DNNL_ARG_SRC, input},
                           {DNNL_ARG_DST, result},
                           {DNNL_ARG_SCALE, scale_.value},
                           {DNNL_ARG_SHIFT, shift_.value},
                           {DNNL_ARG_MEAN, running_mean_},
                           {DNNL_ARG_VARIANCE, running_variance_}},
                          0, Pass::Evaluation);
    return result;
  }

  [[nodiscard]] memory bind_backward(Builder& builder, const memory& activation_gradient) override {
    const memory read = builder.in_layout(activation_gradient, output(), "reorder activation gradient");
    const bool own = !place_.gradient_is_shared || read.get() != activation_gradient.get();
    const memory result = own ? read : builder.allocate(output());
    std::vector<std::pair<int, memory>> arguments = {{DNNL_ARG_SRC, input_},
                                                     {DNNL_ARG_MEAN, mean_},
                                                     {DNNL_ARG_VARIANCE, variance_},
                                                     {DNNL_ARG_SCALE, scale_.value},
                                                     {DNNL_ARG_DIFF_DST, read},
                                                     {DNNL_ARG_DIFF_SRC, result},
                                                     {DNNL_ARG_DIFF_SCALE, scale_.gradient},
                                                     {DNNL_ARG_DIFF_SHIFT, shift_.gradient}};
    if (relu()) arguments.emplace_back(DNNL_ARG_WORKSPACE, workspace_);
    builder.add_primitive("backward", backward_, arguments);
    return result;
  }

 private:
  [[nodiscard]] bool relu() const { return place_.figures.layer->relu; }

  // Forward in training, and the running averages behind it.
  void add_moving(Builder& builder, const std::vector<std::pair<int, memory>>& arguments) {
    builder.add_primitive("forward", forward_, arguments, 0, Pass::Training);
    const std::int64_t channels = place_.figures.output.channels;
    const std::int64_t count = place_.batch * place_.figures.output.elements() / channels;
    builder.add_loop(
        "running averages", {mean_, variance_},
        [mean = running_mean_, variance = running_variance_, batch_mean = mean_, batch_variance = variance_, channels,
         count](const StepContext&) {
          move_averages(static_cast<float*>(mean.get_data_handle()), static_cast<float*>(variance.get_data_handle()),
                        static_cast<const float*>(batch_mean.get_data_handle()),
                        static_cast<const float*>(batch_variance.get_data_handle()), channels, count);
        },
        -1, Pass::Training);
  }

  LayerPlace place_;
  memory::desc vector_;
  dnnl::primitive_desc_base forward_, evaluation_, backward_;
  ParameterTensor scale_, shift_;
  memory running_mean_, running_variance_;
  memory input_, mean_, variance_, workspace_;
};

}  // namespace

std::unique_ptr<PlannedLayer> plan_batch_normalisation(const LayerPlace& place) {
  return std::make_unique<BatchNormalisationLayer>(place);
}

}  // namespace nocturne::onednn
