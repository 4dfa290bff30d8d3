/// cuDNN's pooling on the simulated GPU: each call checks what it is given and puts the operation on its handle's
/// stream.

#include "tests/kernels/cuda/simulated_gpu/descriptors.hpp"
#include "tests/kernels/cuda/simulated_gpu/simulated_streams.hpp"

namespace simulated = nocturne::simulated;
using simulated::check_place;
using simulated::demand_one;
using simulated::enqueue;
using simulated::factor;
using simulated::read;
using simulated::Values;
using simulated::write;

extern "C" {

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
                                   cudnnTensorDescriptor_t output, const void* y,
                                   cudnnTensorDescriptor_t activation_gradient, const void* dy,
                                   cudnnTensorDescriptor_t input, const void* x, const void* beta,
                                   cudnnTensorDescriptor_t gradient, void* dx) {
  demand_one(alpha);
  check_place(input->tensor, x);
  check_place(output->tensor, y);
  check_place(activation_gradient->tensor, dy);
  check_place(gradient->tensor, dx);
  enqueue(handle->stream, [=, before = factor(beta), in = input->tensor, out = output->tensor, how = *pooling] {
    write(in, dx, pool_back(in.sizes, out.sizes, how.window, how.largest, read(in, x), read(out, dy)), before);
  });
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
