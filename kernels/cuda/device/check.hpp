#pragma once

/// From CUDA's status codes to exceptions.

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace nocturne::cuda {

/// The runtime or a library refused; what() is the sentence with the call's name.
class CudaError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws where `status` is no success: worker::OutOfDeviceMemory for memory, worker::Unsupported for what a GPU or a
/// driver cannot do, CudaError else. `what` names the call or the kernel.
void check(cudaError_t status, const char* what);

}  // namespace nocturne::cuda
