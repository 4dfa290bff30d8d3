#include "kernels/cuda/device/stopwatch.hpp"

#include "kernels/cuda/device/check.hpp"

namespace nocturne::cuda {

Stopwatch::Stopwatch() {
  check(cudaEventCreate(&begin_), "event");
  if (const cudaError_t status = cudaEventCreate(&end_); status != cudaSuccess) {
    cudaEventDestroy(begin_);
    check(status, "event");
  }
}

Stopwatch::~Stopwatch() {
  cudaEventDestroy(begin_);
  cudaEventDestroy(end_);
}

void Stopwatch::begin(cudaStream_t stream) {
  check(cudaEventRecord(begin_, stream), "event");
}

std::chrono::nanoseconds Stopwatch::end(cudaStream_t stream) {
  check(cudaEventRecord(end_, stream), "event");
  check(cudaEventSynchronize(end_), "waiting for the GPU");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin_, end_), "event");
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double, std::milli>(milliseconds));
}

}  // namespace nocturne::cuda
