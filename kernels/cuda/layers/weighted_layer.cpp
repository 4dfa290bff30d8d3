/// Convolutions and dense layers. A dense layer is a convolution of 1×1 over an image of one pixel whose channels are
/// all values of its input, as they lie in memory; its weights lie in the same order (to_device_order).

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "kernels/cuda/cudnn/convolution_algorithms.hpp"
#include "kernels/cuda/cudnn/cudnn_objects.hpp"
#include "kernels/cuda/cudnn/fused_convolution.hpp"
#include "kernels/cuda/layers/device_layer.hpp"
#include "kernels/worker/refusal.hpp"

namespace nocturne::cuda {
namespace {

using networks::Kind;
using networks::Shape;

Shape input_shape(const LayerPlace& place) {
  const Shape& input = place.plan.figures.input;
  return place.layer().kind == Kind::Dense ? Shape{input.elements(), 1, 1} : input;
}

FilterDescriptor filter_descriptor(const LayerPlace& place) {
  const networks::Layer& layer = place.layer();
  const int side = layer.kind == Kind::Dense ? 1 : static_cast<int>(layer.kernel);
  FilterDescriptor descriptor;
  check(cudnnSetFilter4dDescriptor(descriptor.get(), cudnn_type(place.type()), cudnn_format(place.settings.layout),
                                   static_cast<int>(layer.outputs), static_cast<int>(input_shape(place).channels), side,
                                   side),
        "filter");
  return descriptor;
}

ConvolutionDescriptor convolution_descriptor(const LayerPlace& place) {
  const networks::Layer& layer = place.layer();
  const bool dense = layer.kind == Kind::Dense;
  const int padding = dense ? 0 : static_cast<int>(layer.padding), stride = dense ? 1 : static_cast<int>(layer.stride);
  ConvolutionDescriptor descriptor;
  check(cudnnSetConvolution2dDescriptor(descriptor.get(), padding, padding, stride, stride, 1, 1,
                                        CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
        "convolution");
  check(cudnnSetConvolutionMathType(descriptor.get(), math_type(place.settings.precision)), "convolution");
  return descriptor;
}

class WeightedLayer final : public DeviceLayer {
 public:
  explicit WeightedLayer(const LayerPlace& place)
      : place_(place),
        name_(place_.layer().name),
        input_(tensor_descriptor(place_.batch, input_shape(place_), place_.type(), place_.settings.layout)),
        output_(tensor_descriptor(place_.batch, place_.plan.figures.output, place_.type(), place_.settings.layout)),
        filter_(filter_descriptor(place_)),
        convolution_(convolution_descriptor(place_)) {}

  void choose(const Pass& pass) override {
    forward_ = chosen(pass, Operation::Forward);
    weights_ = chosen(pass, Operation::BackwardWeights);
    if (place_.input_gradient != nullptr) data_ = chosen(pass, Operation::BackwardData);
  }

  [[nodiscard]] std::int64_t workspace_bytes() const override {
    const std::int64_t biases =
        place_.biases != nullptr ? channel_sums_bytes(place_.output_count(), output_order()) : 0;
    return std::max({forward_.workspace_bytes, weights_.workspace_bytes, data_ ? data_->workspace_bytes : 0,
                     graph_ ? graph_->workspace_bytes() : 0, biases});
  }

  [[nodiscard]] std::vector<Implementation> implementations() const override {
    std::vector<Implementation> all = {fused_ ? fused_implementation() : implementation(Operation::Forward, forward_),
                                       implementation(Operation::BackwardWeights, weights_)};
    if (data_) all.push_back(implementation(Operation::BackwardData, *data_));
    return all;
  }

  void prepare_fusion(const Pass& pass) override {
    const networks::Layer& layer = place_.layer();
    const bool dense = layer.kind == Kind::Dense;
    const FusedShape shape{.precision = place_.settings.precision,
                           .layout = place_.settings.layout,
                           .batch = place_.batch,
                           .input = input_shape(place_),
                           .output = place_.plan.figures.output,
                           .kernel = dense ? 1 : layer.kernel,
                           .stride = dense ? 1 : layer.stride,
                           .padding = dense ? 0 : layer.padding,
                           .relu = layer.relu,
                           .workspace_limit_bytes = place_.settings.workspace_mib << 20};
    FusedPlaces places{
        .input = place_.input, .weights = place_.weights, .biases = place_.biases, .output = place_.output};
    if (gives_statistics()) {
      places.sums = place_.part(StatisticsPart::Sums);
      places.squares = place_.part(StatisticsPart::Squares);
    }
    graph_ = std::make_unique<FusedConvolution>(shape, places, pass.cudnn);
  }

  void use_fusion(bool fused) override { fused_ = fused; }

  void drop_fusion() override {
    fused_ = false;
    graph_.reset();
  }

  void forward(const Pass& pass) override {
    if (fused_ && (pass.training || !gives_statistics())) {
      graph_->run(pass.cudnn, pass.workspace);
      return;
    }
    check(cudnnConvolutionForward(pass.cudnn, &kOne, input_.get(), place_.input, filter_.get(), place_.weights,
                                  convolution_.get(), static_cast<cudnnConvolutionFwdAlgo_t>(forward_.algorithm),
                                  pass.workspace, static_cast<std::size_t>(pass.workspace_bytes), &kZero, output_.get(),
                                  place_.output),
          name_.c_str());
    const bool relu = place_.layer().relu;
    if (place_.biases != nullptr) {
      launch_add_bias(place_.output, place_.biases, place_.type(), place_.output_count(), output_order(), relu,
                      pass.stream);
    } else if (relu) {
      launch_rectify(place_.output, place_.type(), place_.output_count(), pass.stream);
    }
  }

  void backward(const Pass& pass) override {
    const auto workspace = static_cast<std::size_t>(pass.workspace_bytes);
    gate_gradient(place_, pass.stream);
    if (place_.biases != nullptr) {
      launch_sum_channels(place_.activation_gradient, place_.biases_gradient, static_cast<float*>(pass.workspace),
                          place_.type(), place_.output_count(), output_order(), pass.stream);
    }
    check(cudnnConvolutionBackwardFilter(pass.cudnn, &kOne, input_.get(), place_.input, output_.get(),
                                         place_.activation_gradient, convolution_.get(),
                                         static_cast<cudnnConvolutionBwdFilterAlgo_t>(weights_.algorithm),
                                         pass.workspace, workspace, &kZero, filter_.get(), place_.weights_gradient),
          name_.c_str());
    if (!data_) return;
    const float* before = place_.plan.handing == Handing::Accumulate ? &kOne : &kZero;
    check(cudnnConvolutionBackwardData(pass.cudnn, &kOne, filter_.get(), place_.weights, output_.get(),
                                       place_.activation_gradient, convolution_.get(),
                                       static_cast<cudnnConvolutionBwdDataAlgo_t>(data_->algorithm), pass.workspace,
                                       workspace, before, input_.get(), place_.input_gradient),
          name_.c_str());
  }

 private:
  [[nodiscard]] ChannelOrder output_order() const {
    return channel_order(place_.plan.figures.output, place_.settings.layout);
  }
  [[nodiscard]] bool gives_statistics() const { return place_.statistics != nullptr; }

  [[nodiscard]] Implementation fused_implementation() const {
    std::string primitive(to_text(Operation::Forward));
    if (place_.biases != nullptr) primitive += ", bias";
    if (place_.layer().relu) primitive += ", rectifier";
    if (gives_statistics()) primitive += ", statistics";
    return {name_, primitive, "graph " + graph_->name(), graph_->workspace_bytes()};
  }

  [[nodiscard]] Candidate chosen(const Pass& pass, Operation operation) const {
    const ConvolutionTensors tensors{.input = input_.get(),
                                     .filter = filter_.get(),
                                     .convolution = convolution_.get(),
                                     .output = output_.get(),
                                     .input_data = place_.input,
                                     .weights_data = place_.weights,
                                     .output_data = place_.output,
                                     .gradient_data = place_.activation_gradient,
                                     .input_gradient_data = place_.input_gradient,
                                     .weights_gradient_data = place_.weights_gradient};
    const Settings& settings = place_.settings;
    const auto candidates = settings.algorithm == Algorithm::Find ? measured_candidates(pass, operation, tensors)
                                                                  : estimated_candidates(pass, operation, tensors);
    const auto choice = cuda::choose(candidates, settings.algorithm, settings.workspace_mib << 20);
    if (choice) return *choice;
    throw worker::Unsupported("layer " + name_ + ": cuDNN has no algorithm for " + std::string(to_text(operation)) +
                              " in " + std::string(to_text(settings.precision)) + ", layout " +
                              std::string(to_text(settings.layout)) + ", with a workspace of " +
                              std::to_string(settings.workspace_mib) + " MiB");
  }

  [[nodiscard]] Implementation implementation(Operation operation, const Candidate& choice) const {
    return {name_, std::string(to_text(operation)), algorithm_name(operation, choice.algorithm),
            choice.workspace_bytes};
  }

  LayerPlace place_;
  std::string name_;
  TensorDescriptor input_, output_;
  FilterDescriptor filter_;
  ConvolutionDescriptor convolution_;
  Candidate forward_, weights_;
  std::optional<Candidate> data_;
  std::unique_ptr<FusedConvolution> graph_;
  bool fused_ = false;
};

}  // namespace

std::unique_ptr<DeviceLayer> make_weighted(const LayerPlace& place) {
  return std::make_unique<WeightedLayer>(place);
}

}  // namespace nocturne::cuda
