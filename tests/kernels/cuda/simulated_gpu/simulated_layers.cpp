/// cuDNN's batch normalisation and pooling on the simulated GPU: each call checks what it is given and puts the
/// operation on its handle's stream.

#include <cmath>

#include "tests/kernels/cuda/simulated_gpu/descriptors.hpp"
#include "tests/kernels/cuda/simulated_gpu/simulated_streams.hpp"

namespace simulated = nocturne::simulated;
using simulated::check_place;
using simulated::demand_one;
using simulated::enqueue;
using simulated::factor;
using simulated::fail;
using simulated::per_channel;
using simulated::read;
using simulated::Tensor;
using simulated::Values;
using simulated::write;

extern "C" {

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
  if (channels->tensor.sizes != one.sizes || channels->tensor.type != CUDNN_DATA_FLOAT)
    fail("statistics that are not one float of each channel");
  check_place(input->tensor, x);
  check_place(output->tensor, y);
  for (const void* each :
       {scale, shift, static_cast<const void*>(running_mean), static_cast<const void*>(running_variance),
        static_cast<const void*>(saved_mean), static_cast<const void*>(saved_inverse)}) {
    if (!simulated::is_on_device(each, static_cast<std::size_t>(one.bytes()))) fail("statistics not on the device");
  }
  enqueue(
      handle->stream,
      [=, before = factor(beta), in = input->tensor, out = output->tensor] {
        const Values values = read(in, x);
        const simulated::Statistics found = simulated::statistics(in.sizes, values);
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
    const simulated::NormalisationGradients found =
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
