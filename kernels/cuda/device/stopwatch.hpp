#pragma once

/// Time on a stream by the GPU's own clock.

#include <cuda_runtime_api.h>

#include <chrono>

namespace nocturne::cuda {

class Stopwatch {
 public:
  Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch();

  /// From when the stream reaches what `work` puts on it until that is done; waits for it. Throws as check().
  template <typename Work>
  [[nodiscard]] std::chrono::nanoseconds time(cudaStream_t stream, const Work& work) {
    begin(stream);
    work();
    return end(stream);
  }

 private:
  void begin(cudaStream_t stream);
  std::chrono::nanoseconds end(cudaStream_t stream);
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace nocturne::cuda
