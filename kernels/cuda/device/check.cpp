#include "kernels/cuda/device/check.hpp"

#include "kernels/worker/refusal.hpp"

namespace nocturne::cuda {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  const std::string sentence = std::string(what) + ": " + cudaGetErrorString(status);
  switch (status) {
    case cudaErrorMemoryAllocation:
      throw worker::OutOfDeviceMemory(sentence);
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorNotSupported:
      throw worker::Unsupported(sentence);
    default:
      throw CudaError(sentence);
  }
}

}  // namespace nocturne::cuda
