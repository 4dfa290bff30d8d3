#pragma once

/// cuDNN's handle and descriptors, owned; and its status codes as exceptions.

#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <cstdint>
#include <utility>

#include "kernels/cuda/device_code/launchers.hpp"
#include "kernels/cuda/device_code/step_state.hpp"
#include "kernels/networks/network.hpp"

namespace nocturne::cuda {

/// Throws where `status` is no success: worker::Unsupported for what cuDNN cannot do here, worker::OutOfDeviceMemory,
/// CudaError else. `what` names the layer or the call.
void check(cudnnStatus_t status, const char* what);

/// One of cuDNN's objects; move-only.
template <typename Raw, cudnnStatus_t (*Create)(Raw*), cudnnStatus_t (*Destroy)(Raw)>
class CudnnObject {
 public:
  CudnnObject() { check(Create(&raw_), "cuDNN"); }
  CudnnObject(CudnnObject&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  CudnnObject& operator=(CudnnObject&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  CudnnObject(const CudnnObject&) = delete;
  CudnnObject& operator=(const CudnnObject&) = delete;
  ~CudnnObject() {
    if (raw_ != nullptr) Destroy(raw_);
  }
  [[nodiscard]] Raw get() const { return raw_; }

 private:
  Raw raw_ = nullptr;
};

using CudnnHandle = CudnnObject<cudnnHandle_t, cudnnCreate, cudnnDestroy>;
using TensorDescriptor =
    CudnnObject<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>;
using FilterDescriptor =
    CudnnObject<cudnnFilterDescriptor_t, cudnnCreateFilterDescriptor, cudnnDestroyFilterDescriptor>;
using ConvolutionDescriptor =
    CudnnObject<cudnnConvolutionDescriptor_t, cudnnCreateConvolutionDescriptor, cudnnDestroyConvolutionDescriptor>;
using PoolingDescriptor =
    CudnnObject<cudnnPoolingDescriptor_t, cudnnCreatePoolingDescriptor, cudnnDestroyPoolingDescriptor>;

[[nodiscard]] cudnnDataType_t cudnn_type(DataType type);
/// For convolutions: f32 without tensor cores, which cuDNN would by default round to tf32 for.
[[nodiscard]] cudnnMathType_t math_type(Precision precision);
[[nodiscard]] cudnnTensorFormat_t cudnn_format(Layout layout);

/// A batch of images of this shape, without gaps. Throws worker::Unsupported where cuDNN's 32-bit sizes do not suffice.
[[nodiscard]] TensorDescriptor tensor_descriptor(std::int64_t batch, const networks::Shape& shape, DataType type,
                                                 Layout layout);

/// The factors that cuDNN multiplies a result and what was there before with: f32 whatever the tensors are.
inline constexpr float kOne = 1.0F, kZero = 0.0F;

// What every operation of a pass over a network is given.

/// The surroundings of one pass.
struct Pass {
  cudnnHandle_t cudnn = nullptr;  ///< its stream is `stream`
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;
  std::int64_t workspace_bytes = 0;
  StepState* state = nullptr;
  bool training = true;  ///< else running averages, and nothing is dropped
  bool dropout = true;   ///< false: nothing is dropped
};

}  // namespace nocturne::cuda
