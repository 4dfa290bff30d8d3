#include "kernels/cuda/cudnn/fused_convolution.hpp"

#include <cudnn_frontend.h>

#include <unordered_map>
#include <vector>

#include "kernels/cuda/device/check.hpp"
#include "kernels/worker/refusal.hpp"

namespace nocturne::cuda {
namespace {

namespace fe = cudnn_frontend;
using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;
using Sizes = std::vector<std::int64_t>;

// The graph's names for its tensors.
enum Id : std::int64_t { kInput = 1, kWeights, kBiases, kOutput, kSums, kSquares };

constexpr std::int64_t kVector = 4;  // floats: cuDNN reads statistics sixteen bytes at a time

// What cuDNN says, without the trace behind it.
std::string words_of(fe::error_t status) {
  const std::string message = status.get_message();
  return message.substr(0, message.find('\n'));
}

void demand(const fe::error_t& status, const char* what) {
  if (status.is_bad()) throw worker::Unsupported(std::string(what) + ": " + words_of(status));
}

fe::DataType_t type_of(Precision precision) {
  if (precision == Precision::Bf16) return fe::DataType_t::BFLOAT16;
  return precision == Precision::F16 ? fe::DataType_t::HALF : fe::DataType_t::FLOAT;
}

// (N, C, H, W) without gaps, in this order or with the channels last.
Sizes strides_of(const Sizes& sizes, Layout layout) {
  const std::int64_t c = sizes[1], h = sizes[2], w = sizes[3];
  if (layout == Layout::Nhwc) return {c * h * w, 1, c * w, c};
  return {c * h * w, h * w, w, 1};
}

fe::graph::Tensor_attributes tensor_of(Id id, const char* name, const Sizes& sizes, Layout layout) {
  return fe::graph::Tensor_attributes().set_name(name).set_uid(id).set_dim(sizes).set_stride(strides_of(sizes, layout));
}

void make_output(const Tensor& tensor, Id id, fe::DataType_t type) {
  tensor->set_output(true).set_uid(id).set_data_type(type);
}

// Adds the operations; returns their output, which is not yet one of the graph.
Tensor describe(fe::graph::Graph& graph, const FusedShape& shape, const FusedPlaces& places) {
  const networks::Shape &input = shape.input, &output = shape.output;
  const Sizes images = {shape.batch, input.channels, input.height, input.width};
  const Sizes filter = {output.channels, input.channels, shape.kernel, shape.kernel};
  const Sizes channels = {1, output.channels, 1, 1};
  const Tensor x = graph.tensor(tensor_of(kInput, "input", images, shape.layout));
  const Tensor w = graph.tensor(tensor_of(kWeights, "weights", filter, shape.layout));
  Tensor y = graph.conv_fprop(x, w,
                              fe::graph::Conv_fprop_attributes()
                                  .set_padding({shape.padding, shape.padding})
                                  .set_stride({shape.stride, shape.stride})
                                  .set_dilation({1, 1}));
  if (places.biases != nullptr) {
    const Tensor b = graph.tensor(tensor_of(kBiases, "biases", channels, shape.layout));
    y = graph.pointwise(y, b, fe::graph::Pointwise_attributes().set_mode(fe::PointwiseMode_t::ADD));
  }
  if (shape.relu) y = graph.pointwise(y, fe::graph::Pointwise_attributes().set_mode(fe::PointwiseMode_t::RELU_FWD));
  if (places.sums != nullptr) {
    const auto [sums, squares] = graph.genstats(y, fe::graph::Genstats_attributes());
    make_output(sums, kSums, fe::DataType_t::FLOAT);
    make_output(squares, kSquares, fe::DataType_t::FLOAT);
  }
  return y;
}

}  // namespace

struct FusedConvolution::Plan {
  fe::graph::Graph graph;
  std::unordered_map<std::int64_t, void*> places;
  std::int64_t workspace_bytes = 0;
  std::string name;
};

bool can_fuse() {
  return true;
}

FusedConvolution::FusedConvolution(const FusedShape& shape, const FusedPlaces& places, cudnnHandle_t cudnn)
    : plan_(std::make_unique<Plan>()) {
  if (places.sums != nullptr && shape.output.channels % kVector != 0)
    throw worker::Unsupported("statistics of channels that are no multiple of 4 are not fused");
  fe::graph::Graph& graph = plan_->graph;
  const fe::DataType_t type = type_of(shape.precision);
  graph.set_io_data_type(type)
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  make_output(describe(graph, shape, places), kOutput, type);
  demand(graph.validate(), "graph");
  demand(graph.build_operation_graph(cudnn), "graph");
  demand(graph.create_execution_plans({fe::HeurMode_t::A}), "plans");
  if (shape.precision == Precision::F32) graph.deselect_numeric_notes({fe::NumericalNote_t::TENSOR_CORE});
  graph.deselect_workspace_greater_than(shape.workspace_limit_bytes);
  demand(graph.check_support(), "support");
  demand(graph.build_plans(fe::BuildPlanPolicy_t::HEURISTICS_CHOICE), "plan");
  demand(graph.get_workspace_size(plan_->workspace_bytes), "workspace");
  demand(graph.get_plan_name(plan_->name), "plan");
  plan_->places = {{kInput, places.input}, {kWeights, places.weights}, {kOutput, places.output}};
  if (places.biases != nullptr) plan_->places[kBiases] = places.biases;
  if (places.sums != nullptr) {
    plan_->places[kSums] = places.sums;
    plan_->places[kSquares] = places.squares;
  }
}

FusedConvolution::~FusedConvolution() = default;

void FusedConvolution::run(cudnnHandle_t cudnn, void* workspace) const {
  const fe::error_t status = plan_->graph.execute(cudnn, plan_->places, workspace);
  if (status.is_bad()) throw CudaError("fused convolution: " + words_of(status));
}

std::int64_t FusedConvolution::workspace_bytes() const {
  return plan_->workspace_bytes;
}

const std::string& FusedConvolution::name() const {
  return plan_->name;
}

}  // namespace nocturne::cuda
