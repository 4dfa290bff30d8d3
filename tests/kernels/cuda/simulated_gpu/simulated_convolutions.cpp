/// cuDNN's convolutions on the simulated GPU, and which algorithms it has for them: each call checks what it is given
/// and puts the operation on its handle's stream.

#include <cstring>

#include "tests/kernels/cuda/simulated_gpu/descriptors.hpp"
#include "tests/kernels/cuda/simulated_gpu/simulated_streams.hpp"

namespace simulated = nocturne::simulated;
using simulated::check_place;
using simulated::Convolution;
using simulated::demand_one;
using simulated::enqueue;
using simulated::factor;
using simulated::fail;
using simulated::per_channel;
using simulated::read;
using simulated::Sizes;
using simulated::Tensor;
using simulated::Values;
using simulated::write;

namespace {

constexpr std::size_t kSomeWorkspace = std::size_t{64} << 10, kMuchWorkspace = std::size_t{1} << 30;

Convolution shape_of(const Tensor& input, const Tensor& filter, const cudnnConvolutionStruct& how,
                     const Tensor& output) {
  const Convolution shape{.input = input.sizes,
                          .filter = filter.sizes,
                          .output = output.sizes,
                          .stride = how.stride,
                          .padding = how.padding};
  const auto side = [&](std::int64_t size, std::int64_t kernel) {
    return (size + 2 * how.padding - kernel) / how.stride + 1;
  };
  const Sizes wanted{input.sizes.n, filter.sizes.n, side(input.sizes.h, filter.sizes.h),
                     side(input.sizes.w, filter.sizes.w)};
  if (filter.sizes.c != input.sizes.c || wanted != output.sizes) fail("a convolution whose shapes do not fit");
  if (input.type != filter.type || input.type != output.type) fail("a convolution of several types");
  return shape;
}

// What the two factors of a product lose on their way.
Values factor_of(const Tensor& tensor, const void* data, const cudnnConvolutionStruct& how) {
  Values values = read(tensor, data);
  if (tensor.type == CUDNN_DATA_FLOAT && how.math == CUDNN_DEFAULT_MATH) simulated::round_to_tf32(values);
  return values;
}

// Algorithms: 0 needs nothing, 1 some workspace, 2 is not supported, 3 needs more than anybody allows.
std::size_t workspace_of(int algorithm) {
  return algorithm == 0 ? 0 : algorithm == 1 ? kSomeWorkspace : kMuchWorkspace;
}

cudnnStatus_t check_workspace(int algorithm, void* workspace, std::size_t bytes) {
  const std::size_t needed = workspace_of(algorithm);
  if (algorithm == 2 || bytes < needed) return CUDNN_STATUS_NOT_SUPPORTED;
  if (needed > 0 && !simulated::is_on_device(workspace, needed)) fail("a workspace that is not on the device");
  return CUDNN_STATUS_SUCCESS;
}

// Work that spoils its workspace, as a real one does.
template <typename Compute>
void enqueue_with(cudnnHandle_t handle, int algorithm, void* workspace, Compute compute) {
  enqueue(handle->stream, [=] {
    if (workspace_of(algorithm) > 0) std::memset(workspace, 0xff, workspace_of(algorithm));
    compute();
  });
}

template <typename Performance>
cudnnStatus_t list_algorithms(int wanted, int* count, Performance* found, bool measured, std::size_t workspace) {
  *count = 0;
  for (const int algorithm : {3, 1, 2, 0}) {
    if (*count == wanted) break;
    const bool fits = algorithm != 2 && (!measured || workspace_of(algorithm) <= workspace);
    found[(*count)++] = {.algo = static_cast<decltype(found->algo)>(algorithm),
                         .status = fits ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED,
                         .time = fits && measured ? 0.01F * static_cast<float>(4 - algorithm) : -1.0F,
                         .memory = fits ? workspace_of(algorithm) : 0,
                         .determinism = CUDNN_DETERMINISTIC,
                         .mathType = CUDNN_DEFAULT_MATH,
                         .reserved = {}};
  }
  return CUDNN_STATUS_SUCCESS;
}

// A search for the fastest runs them: what they write is lost, and the stream is waited for.
cudnnStatus_t spoil(cudnnHandle_t handle, const Tensor& written, void* data) {
  check_place(written, data);
  enqueue(handle->stream, [=] { std::memset(data, 0xff, static_cast<std::size_t>(written.bytes())); });
  if (simulated::capturing()) fail("a search for algorithms while a stream is captured");
  simulated::drain(handle->stream);
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

// --- which algorithms there are ---

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, cudnnTensorDescriptor_t, cudnnFilterDescriptor_t,
                                                     cudnnConvolutionDescriptor_t, cudnnTensorDescriptor_t, int wanted,
                                                     int* count, cudnnConvolutionFwdAlgoPerf_t* found) {
  return list_algorithms(wanted, count, found, false, 0);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t, cudnnFilterDescriptor_t,
                                                          cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
                                                          cudnnTensorDescriptor_t, int wanted, int* count,
                                                          cudnnConvolutionBwdDataAlgoPerf_t* found) {
  return list_algorithms(wanted, count, found, false, 0);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnnHandle_t, cudnnTensorDescriptor_t,
                                                            cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
                                                            cudnnFilterDescriptor_t, int wanted, int* count,
                                                            cudnnConvolutionBwdFilterAlgoPerf_t* found) {
  return list_algorithms(wanted, count, found, false, 0);
}

cudnnStatus_t cudnnFindConvolutionForwardAlgorithmEx(cudnnHandle_t handle, cudnnTensorDescriptor_t, const void*,
                                                     cudnnFilterDescriptor_t, const void*, cudnnConvolutionDescriptor_t,
                                                     cudnnTensorDescriptor_t output, void* y, int wanted, int* count,
                                                     cudnnConvolutionFwdAlgoPerf_t* found, void*,
                                                     std::size_t workspace) {
  list_algorithms(wanted, count, found, true, workspace);
  return spoil(handle, output->tensor, y);
}

cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithmEx(cudnnHandle_t handle, cudnnFilterDescriptor_t, const void*,
                                                          cudnnTensorDescriptor_t, const void*,
                                                          cudnnConvolutionDescriptor_t,
                                                          cudnnTensorDescriptor_t gradient, void* dx, int wanted,
                                                          int* count, cudnnConvolutionBwdDataAlgoPerf_t* found, void*,
                                                          std::size_t workspace) {
  list_algorithms(wanted, count, found, true, workspace);
  return spoil(handle, gradient->tensor, dx);
}

cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithmEx(cudnnHandle_t handle, cudnnTensorDescriptor_t, const void*,
                                                            cudnnTensorDescriptor_t, const void*,
                                                            cudnnConvolutionDescriptor_t,
                                                            cudnnFilterDescriptor_t gradient, void* dw, int wanted,
                                                            int* count, cudnnConvolutionBwdFilterAlgoPerf_t* found,
                                                            void*, std::size_t workspace) {
  list_algorithms(wanted, count, found, true, workspace);
  return spoil(handle, gradient->tensor, dw);
}

// --- convolutions ---

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t input,
                                      const void* x, cudnnFilterDescriptor_t filter, const void* w,
                                      cudnnConvolutionDescriptor_t convolution, cudnnConvolutionFwdAlgo_t chosen,
                                      void* workspace, std::size_t workspace_bytes, const void* beta,
                                      cudnnTensorDescriptor_t output, void* y) {
  demand_one(alpha);
  if (const cudnnStatus_t status = check_workspace(chosen, workspace, workspace_bytes); status != 0) return status;
  const Convolution shape = shape_of(input->tensor, filter->tensor, *convolution, output->tensor);
  check_place(input->tensor, x);
  check_place(filter->tensor, w);
  check_place(output->tensor, y);
  enqueue_with(handle, chosen, workspace,
               [=, before = factor(beta), in = input->tensor, weights = filter->tensor, out = output->tensor,
                how = *convolution] {
                 write(out, y, convolve(shape, factor_of(in, x, how), factor_of(weights, w, how)), before);
               });
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha, cudnnFilterDescriptor_t filter,
                                           const void* w, cudnnTensorDescriptor_t output, const void* dy,
                                           cudnnConvolutionDescriptor_t convolution,
                                           cudnnConvolutionBwdDataAlgo_t chosen, void* workspace,
                                           std::size_t workspace_bytes, const void* beta, cudnnTensorDescriptor_t input,
                                           void* dx) {
  demand_one(alpha);
  if (const cudnnStatus_t status = check_workspace(chosen, workspace, workspace_bytes); status != 0) return status;
  const Convolution shape = shape_of(input->tensor, filter->tensor, *convolution, output->tensor);
  check_place(filter->tensor, w);
  check_place(output->tensor, dy);
  check_place(input->tensor, dx);
  enqueue_with(handle, chosen, workspace,
               [=, before = factor(beta), in = input->tensor, weights = filter->tensor, out = output->tensor,
                how = *convolution] {
                 write(in, dx, convolve_data(shape, factor_of(weights, w, how), factor_of(out, dy, how)), before);
               });
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t input,
                                             const void* x, cudnnTensorDescriptor_t output, const void* dy,
                                             cudnnConvolutionDescriptor_t convolution,
                                             cudnnConvolutionBwdFilterAlgo_t chosen, void* workspace,
                                             std::size_t workspace_bytes, const void* beta,
                                             cudnnFilterDescriptor_t filter, void* dw) {
  demand_one(alpha);
  if (const cudnnStatus_t status = check_workspace(chosen, workspace, workspace_bytes); status != 0) return status;
  const Convolution shape = shape_of(input->tensor, filter->tensor, *convolution, output->tensor);
  check_place(input->tensor, x);
  check_place(output->tensor, dy);
  check_place(filter->tensor, dw);
  enqueue_with(handle, chosen, workspace,
               [=, before = factor(beta), in = input->tensor, weights = filter->tensor, out = output->tensor,
                how = *convolution] {
                 write(weights, dw, convolve_weights(shape, factor_of(in, x, how), factor_of(out, dy, how)), before);
               });
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
