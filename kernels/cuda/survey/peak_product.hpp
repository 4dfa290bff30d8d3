#pragma once

/// A large product of matrices by cuDNN: what the tensor cores reach through the library that trains, with instructions
/// (Hopper's wgmma) that the plain loop in peaks.cu has not.

#include "kernels/cuda/cudnn/cudnn_objects.hpp"
#include "kernels/cuda/device/device.hpp"
#include "kernels/cuda/settings.hpp"

namespace nocturne::cuda {

/// As a convolution of 1×1, channels last: 8192 pixels of 4096 channels to 4096. All factors are one, so each result is
/// 4096, in every type exactly.
class PeakProduct {
 public:
  /// Allocates, and asks cuDNN for the algorithm it likes best. Throws worker::Unsupported, worker::OutOfDeviceMemory.
  PeakProduct(Precision precision, const Stream& stream);

  [[nodiscard]] static double flops();
  void run();
  /// Adds to `wrong` (on the device) the results that are not 4096.
  void count_wrong(unsigned* wrong);

 private:
  DataType type_;
  const Stream& stream_;
  CudnnHandle cudnn_;
  TensorDescriptor input_, output_;
  FilterDescriptor filter_;
  ConvolutionDescriptor convolution_;
  DeviceMemory input_data_, weights_data_, output_data_, workspace_;
  int algorithm_ = 0;
};

}  // namespace nocturne::cuda
