#include "kernels/cuda/cudnn/cudnn_objects.hpp"

#include <limits>
#include <string>

#include "kernels/cuda/device/check.hpp"
#include "kernels/worker/refusal.hpp"

namespace nocturne::cuda {
namespace {

// cuDNN's sizes and strides are int.
int small(std::int64_t size) {
  if (size > std::numeric_limits<int>::max())
    throw worker::Unsupported("cuDNN's tensors have fewer than 2^31 values: take a smaller batch");
  return static_cast<int>(size);
}

}  // namespace

void check(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  const std::string sentence = std::string(what) + ": cuDNN: " + cudnnGetErrorString(status);
  const int category = static_cast<int>(status) / 1000 * 1000;
  if (status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED) throw worker::OutOfDeviceMemory(sentence);
  if (category == CUDNN_STATUS_NOT_SUPPORTED) throw worker::Unsupported(sentence);
  throw CudaError(sentence);
}

cudnnDataType_t cudnn_type(DataType type) {
  if (type == DataType::Bf16) return CUDNN_DATA_BFLOAT16;
  return type == DataType::F16 ? CUDNN_DATA_HALF : CUDNN_DATA_FLOAT;
}

cudnnMathType_t math_type(Precision precision) {
  if (precision == Precision::F32) return CUDNN_FMA_MATH;
  return precision == Precision::Tf32 ? CUDNN_DEFAULT_MATH : CUDNN_TENSOR_OP_MATH;
}

cudnnTensorFormat_t cudnn_format(Layout layout) {
  return layout == Layout::Nhwc ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
}

TensorDescriptor tensor_descriptor(std::int64_t batch, const networks::Shape& shape, DataType type, Layout layout) {
  static_cast<void>(small(batch * shape.elements()));
  TensorDescriptor descriptor;
  check(cudnnSetTensor4dDescriptor(descriptor.get(), cudnn_format(layout), cudnn_type(type), small(batch),
                                   small(shape.channels), small(shape.height), small(shape.width)),
        "tensor");
  return descriptor;
}

}  // namespace nocturne::cuda
