/// cuDNN's handle and descriptors on the simulated GPU.

#include "tests/kernels/cuda/simulated_gpu/descriptors.hpp"

using nocturne::simulated::fail;

extern "C" {

std::size_t cudnnGetVersion(void) {
  return CUDNN_VERSION;
}

const char* cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_NOT_SUPPORTED ? "CUDNN_STATUS_NOT_SUPPORTED" : "an error of the simulated GPU";
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

// Each kind of descriptor is made and destroyed.
#define NOCTURNE_DESCRIPTOR(KIND)                                                      \
  cudnnStatus_t cudnnCreate##KIND##Descriptor(cudnn##KIND##Descriptor_t* descriptor) { \
    *descriptor = new cudnn##KIND##Struct;                                             \
    return CUDNN_STATUS_SUCCESS;                                                       \
  }                                                                                    \
  cudnnStatus_t cudnnDestroy##KIND##Descriptor(cudnn##KIND##Descriptor_t descriptor) { \
    delete descriptor;                                                                 \
    return CUDNN_STATUS_SUCCESS;                                                       \
  }
NOCTURNE_DESCRIPTOR(Tensor)
NOCTURNE_DESCRIPTOR(Filter)
NOCTURNE_DESCRIPTOR(Convolution)
NOCTURNE_DESCRIPTOR(Pooling)
#undef NOCTURNE_DESCRIPTOR

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t descriptor, cudnnTensorFormat_t format,
                                         cudnnDataType_t type, int n, int c, int h, int w) {
  descriptor->tensor = {.sizes = {n, c, h, w}, .type = type, .channels_last = format == CUDNN_TENSOR_NHWC};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t descriptor, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int k, int c, int h, int w) {
  descriptor->tensor = {.sizes = {k, c, h, w}, .type = type, .channels_last = format == CUDNN_TENSOR_NHWC};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t descriptor, int pad_h, int pad_w,
                                              int stride_h, int stride_w, int dilation_h, int dilation_w,
                                              cudnnConvolutionMode_t mode, cudnnDataType_t compute) {
  if (pad_h != pad_w || stride_h != stride_w || dilation_h != 1 || dilation_w != 1 || mode != CUDNN_CROSS_CORRELATION ||
      compute != CUDNN_DATA_FLOAT) {
    fail("a convolution that is not simulated");
  }
  descriptor->padding = pad_h;
  descriptor->stride = stride_h;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t descriptor, cudnnMathType_t math) {
  descriptor->math = math;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t descriptor, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t, int height, int width, int pad_h, int pad_w,
                                          int stride_h, int stride_w) {
  if (height != width || pad_h != pad_w || stride_h != stride_w ||
      (mode != CUDNN_POOLING_MAX_DETERMINISTIC && mode != CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING)) {
    fail("a pooling that is not simulated");
  }
  descriptor->window = {.side = height, .stride = stride_h, .padding = pad_h};
  descriptor->largest = mode == CUDNN_POOLING_MAX_DETERMINISTIC;
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
