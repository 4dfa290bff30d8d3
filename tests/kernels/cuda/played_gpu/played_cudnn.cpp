/// The functions of cuDNN that nocturne-cudnn calls, on the played GPU: each checks what it is given and puts the
/// operation on its handle's stream.

#include <cudnn.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/kernels/cuda/played_gpu/operations.hpp"
#include "tests/kernels/cuda/played_gpu/played_device.hpp"

namespace played = nocturne::played;
using played::check_place;
using played::Convolution;
using played::enqueue;
using played::fail;
using played::read;
using played::Sizes;
using played::Tensor;
using played::Values;
using played::Window;
using played::write;

struct cudnnTensorStruct {
  Tensor tensor;
};
struct cudnnFilterStruct {
  Tensor tensor;
};
struct cudnnConvolutionStruct {
  int padding = 0, stride = 1;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};
struct cudnnPoolingStruct {
  Window window;
  bool largest = true;
};

namespace {

constexpr std::size_t kSomeWorkspace = std::size_t{64} << 10, kMuchWorkspace = std::size_t{1} << 30;

float factor(const void* value) {
  return *static_cast<const float*>(value);
}

void demand_one(const void* alpha) {
  if (factor(alpha) != 1) fail("results are never multiplied by anything but one here");
}

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
  if (tensor.type == CUDNN_DATA_FLOAT && how.math == CUDNN_DEFAULT_MATH) played::round_to_tf32(values);
  return values;
}

// Algorithms: 0 needs nothing, 1 some workspace, 2 is not supported, 3 needs more than anybody allows.
std::size_t workspace_of(int algorithm) {
  return algorithm == 0 ? 0 : algorithm == 1 ? kSomeWorkspace : kMuchWorkspace;
}

cudnnStatus_t check_workspace(int algorithm, void* workspace, std::size_t bytes) {
  const std::size_t needed = workspace_of(algorithm);
  if (algorithm == 2 || bytes < needed) return CUDNN_STATUS_NOT_SUPPORTED;
  if (needed > 0 && !played::is_on_device(workspace, needed)) fail("a workspace that is not on the device");
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

template <typename Performance, typename Number>
cudnnStatus_t list_algorithms(int wanted, int* count, Performance* found, bool measured, std::size_t workspace) {
  *count = 0;
  for (const int algorithm : {3, 1, 2, 0}) {
    if (*count == wanted) break;
    const bool fits = algorithm != 2 && (!measured || workspace_of(algorithm) <= workspace);
    found[(*count)++] = {.algo = static_cast<Number>(algorithm),
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
  if (played::capturing()) fail("a search for algorithms while a stream is captured");
  played::drain(handle->stream);
  return CUDNN_STATUS_SUCCESS;
}

Tensor per_channel(const Tensor& tensor) {
  return {.sizes = {1, tensor.sizes.c, 1, 1}};
}

}  // namespace

extern "C" {

std::size_t cudnnGetVersion(void) {
  return CUDNN_VERSION;
}

const char* cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_NOT_SUPPORTED ? "CUDNN_STATUS_NOT_SUPPORTED" : "an error of the played GPU";
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = new cudnnContext;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

// --- descriptors ---

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* descriptor) {
  *descriptor = new cudnnTensorStruct;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t descriptor, cudnnTensorFormat_t format,
                                         cudnnDataType_t type, int n, int c, int h, int w) {
  descriptor->tensor = {.sizes = {n, c, h, w}, .type = type, .channels_last = format == CUDNN_TENSOR_NHWC};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* descriptor) {
  *descriptor = new cudnnFilterStruct;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t descriptor, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int k, int c, int h, int w) {
  descriptor->tensor = {.sizes = {k, c, h, w}, .type = type, .channels_last = format == CUDNN_TENSOR_NHWC};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* descriptor) {
  *descriptor = new cudnnConvolutionStruct;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t descriptor, int pad_h, int pad_w,
                                              int stride_h, int stride_w, int dilation_h, int dilation_w,
                                              cudnnConvolutionMode_t mode, cudnnDataType_t compute) {
  if (pad_h != pad_w || stride_h != stride_w || dilation_h != 1 || dilation_w != 1 || mode != CUDNN_CROSS_CORRELATION ||
      compute != CUDNN_DATA_FLOAT) {
    fail("a convolution that is not played");
  }
  descriptor->padding = pad_h;
  descriptor->stride = stride_h;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t descriptor, cudnnMathType_t math) {
  descriptor->math = math;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t* descriptor) {
  *descriptor = new cudnnPoolingStruct;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t descriptor, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t, int height, int width, int pad_h, int pad_w,
                                          int stride_h, int stride_w) {
  if (height != width || pad_h != pad_w || stride_h != stride_w ||
      (mode != CUDNN_POOLING_MAX_DETERMINISTIC && mode != CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING)) {
    fail("a pooling that is not played");
  }
  descriptor->window = {.side = height, .stride = stride_h, .padding = pad_h};
  descriptor->largest = mode == CUDNN_POOLING_MAX_DETERMINISTIC;
  return CUDNN_STATUS_SUCCESS;
}

// --- which algorithms there are ---

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, cudnnTensorDescriptor_t, cudnnFilterDescriptor_t,
                                                     cudnnConvolutionDescriptor_t, cudnnTensorDescriptor_t, int wanted,
                                                     int* count, cudnnConvolutionFwdAlgoPerf_t* found) {
  return list_algorithms<cudnnConvolutionFwdAlgoPerf_t, cudnnConvolutionFwdAlgo_t>(wanted, count, found, false, 0);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t, cudnnFilterDescriptor_t,
                                                          cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
                                                          cudnnTensorDescriptor_t, int wanted, int* count,
                                                          cudnnConvolutionBwdDataAlgoPerf_t* found) {
  return list_algorithms<cudnnConvolutionBwdDataAlgoPerf_t, cudnnConvolutionBwdDataAlgo_t>(wanted, count, found, false,
                                                                                           0);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnnHandle_t, cudnnTensorDescriptor_t,
                                                            cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
                                                            cudnnFilterDescriptor_t, int wanted, int* count,
                                                            cudnnConvolutionBwdFilterAlgoPerf_t* found) {
  return list_algorithms<cudnnConvolutionBwdFilterAlgoPerf_t, cudnnConvolutionBwdFilterAlgo_t>(wanted, count, found,
                                                                                               false, 0);
}

cudnnStatus_t cudnnFindConvolutionForwardAlgorithmEx(cudnnHandle_t handle, cudnnTensorDescriptor_t, const void*,
                                                     cudnnFilterDescriptor_t, const void*, cudnnConvolutionDescriptor_t,
                                                     cudnnTensorDescriptor_t output, void* y, int wanted, int* count,
                                                     cudnnConvolutionFwdAlgoPerf_t* found, void*,
                                                     std::size_t workspace) {
  list_algorithms<cudnnConvolutionFwdAlgoPerf_t, cudnnConvolutionFwdAlgo_t>(wanted, count, found, true, workspace);
  return spoil(handle, output->tensor, y);
}

cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithmEx(cudnnHandle_t handle, cudnnFilterDescriptor_t, const void*,
                                                          cudnnTensorDescriptor_t, const void*,
                                                          cudnnConvolutionDescriptor_t,
                                                          cudnnTensorDescriptor_t gradient, void* dx, int wanted,
                                                          int* count, cudnnConvolutionBwdDataAlgoPerf_t* found, void*,
                                                          std::size_t workspace) {
  list_algorithms<cudnnConvolutionBwdDataAlgoPerf_t, cudnnConvolutionBwdDataAlgo_t>(wanted, count, found, true,
                                                                                    workspace);
  return spoil(handle, gradient->tensor, dx);
}

cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithmEx(cudnnHandle_t handle, cudnnTensorDescriptor_t, const void*,
                                                            cudnnTensorDescriptor_t, const void*,
                                                            cudnnConvolutionDescriptor_t,
                                                            cudnnFilterDescriptor_t gradient, void* dw, int wanted,
                                                            int* count, cudnnConvolutionBwdFilterAlgoPerf_t* found,
                                                            void*, std::size_t workspace) {
  list_algorithms<cudnnConvolutionBwdFilterAlgoPerf_t, cudnnConvolutionBwdFilterAlgo_t>(wanted, count, found, true,
                                                                                        workspace);
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

cudnnStatus_t cudnnConvolutionBackwardBias(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t output,
                                           const void* dy, const void* beta, cudnnTensorDescriptor_t bias, void* db) {
  demand_one(alpha);
  check_place(output->tensor, dy);
  check_place(bias->tensor, db);
  if (bias->tensor.sizes != per_channel(output->tensor).sizes) fail("a bias that is not one of each channel");
  enqueue(handle->stream, [=, before = factor(beta), out = output->tensor, into = bias->tensor] {
    write(into, db, channel_sums(out.sizes, read(out, dy)), before);
  });
  return CUDNN_STATUS_SUCCESS;
}

// --- batch normalisation ---

cudnnStatus_t cudnnBatchNormalizationForwardTraining(cudnnHandle_t handle, cudnnBatchNormMode_t, const void* alpha,
                                                     const void* beta, cudnnTensorDescriptor_t input, const void* x,
                                                     cudnnTensorDescriptor_t output, void* y,
                                                     cudnnTensorDescriptor_t channels, const void* scale,
                                                     const void* shift, double momentum, void* running_mean,
                                                     void* running_variance, double epsilon, void* saved_mean,
                                                     void* saved_inverse) {
  demand_one(alpha);
  const Tensor one = per_channel(input->tensor);
  if (channels->tensor.sizes != one.sizes || channels->tensor.type != CUDNN_DATA_FLOAT) {
    fail("statistics that are not one float of each channel");
  }
  check_place(input->tensor, x);
  check_place(output->tensor, y);
  for (const void* each :
       {scale, shift, static_cast<const void*>(running_mean), static_cast<const void*>(running_variance),
        static_cast<const void*>(saved_mean), static_cast<const void*>(saved_inverse)}) {
    if (!played::is_on_device(each, static_cast<std::size_t>(one.bytes()))) fail("statistics not on the device");
  }
  enqueue(
      handle->stream,
      [=, before = factor(beta), in = input->tensor, out = output->tensor] {
        const Values values = read(in, x);
        const played::Statistics found = played::statistics(in.sizes, values);
        const auto count = static_cast<float>(in.sizes.per_channel());
        Values mean = read(one, running_mean), variance = read(one, running_variance), inverse(mean.size());
        const auto rate = static_cast<float>(momentum);
        for (std::size_t c = 0; c < mean.size(); ++c) {
          const float unbiased = count > 1 ? found.variance[c] * count / (count - 1) : found.variance[c];
          mean[c] = found.mean[c] * rate + mean[c] * (1 - rate);
          variance[c] = unbiased * rate + variance[c] * (1 - rate);
          inverse[c] = 1 / std::sqrt(found.variance[c] + static_cast<float>(epsilon));
        }
        write(one, running_mean, mean, 0);
        write(one, running_variance, variance, 0);
        write(one, saved_mean, found.mean, 0);
        write(one, saved_inverse, inverse, 0);
        write(out, y, normalise(in.sizes, values, found.mean, inverse, read(one, scale), read(one, shift)), before);
      },
      2);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBatchNormalizationForwardInference(cudnnHandle_t handle, cudnnBatchNormMode_t, const void* alpha,
                                                      const void* beta, cudnnTensorDescriptor_t input, const void* x,
                                                      cudnnTensorDescriptor_t output, void* y, cudnnTensorDescriptor_t,
                                                      const void* scale, const void* shift, const void* mean,
                                                      const void* variance, double epsilon) {
  demand_one(alpha);
  const Tensor one = per_channel(input->tensor);
  check_place(input->tensor, x);
  check_place(output->tensor, y);
  enqueue(handle->stream, [=, before = factor(beta), in = input->tensor, out = output->tensor] {
    Values inverse = read(one, variance);
    for (float& each : inverse) each = 1 / std::sqrt(each + static_cast<float>(epsilon));
    write(out, y, normalise(in.sizes, read(in, x), read(one, mean), inverse, read(one, scale), read(one, shift)),
          before);
  });
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBatchNormalizationBackward(cudnnHandle_t handle, cudnnBatchNormMode_t, const void* alpha_data,
                                              const void* beta_data, const void* alpha_rest, const void* beta_rest,
                                              cudnnTensorDescriptor_t input, const void* x,
                                              cudnnTensorDescriptor_t output, const void* dy,
                                              cudnnTensorDescriptor_t gradient, void* dx, cudnnTensorDescriptor_t,
                                              const void* scale, void* scale_gradient, void* shift_gradient, double,
                                              const void* mean, const void* inverse) {
  demand_one(alpha_data);
  demand_one(alpha_rest);
  const Tensor one = per_channel(input->tensor);
  check_place(input->tensor, x);
  check_place(output->tensor, dy);
  check_place(gradient->tensor, dx);
  enqueue(handle->stream, [=, before = factor(beta_data), before_rest = factor(beta_rest), in = input->tensor,
                           out = output->tensor, into = gradient->tensor] {
    const played::NormalisationGradients found =
        normalise_back(in.sizes, read(in, x), read(out, dy), read(one, mean), read(one, inverse), read(one, scale));
    write(into, dx, found.input, before);
    write(one, scale_gradient, found.scale, before_rest);
    write(one, shift_gradient, found.shift, before_rest);
  });
  return CUDNN_STATUS_SUCCESS;
}

// --- pooling ---

cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, cudnnPoolingDescriptor_t pooling, const void* alpha,
                                  cudnnTensorDescriptor_t input, const void* x, const void* beta,
                                  cudnnTensorDescriptor_t output, void* y) {
  demand_one(alpha);
  check_place(input->tensor, x);
  check_place(output->tensor, y);
  enqueue(handle->stream, [=, before = factor(beta), in = input->tensor, out = output->tensor, how = *pooling] {
    write(out, y, pool(in.sizes, out.sizes, how.window, how.largest, read(in, x)), before);
  });
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t handle, cudnnPoolingDescriptor_t pooling, const void* alpha,
                                   cudnnTensorDescriptor_t output, const void* y, cudnnTensorDescriptor_t difference,
                                   const void* dy, cudnnTensorDescriptor_t input, const void* x, const void* beta,
                                   cudnnTensorDescriptor_t gradient, void* dx) {
  demand_one(alpha);
  check_place(input->tensor, x);
  check_place(output->tensor, y);
  check_place(difference->tensor, dy);
  check_place(gradient->tensor, dx);
  enqueue(handle->stream, [=, before = factor(beta), in = input->tensor, out = output->tensor, how = *pooling] {
    write(in, dx, pool_back(in.sizes, out.sizes, how.window, how.largest, read(in, x), read(out, dy)), before);
  });
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
