#pragma once

/// The GPU, and what is owned on it: memory, streams, events. All move-only; destructors wait for nothing.

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/cuda/device/device_facts.hpp"

namespace nocturne::cuda {

/// Asks the driver about one of the GPUs it shows this process, which is the current one from then on. Throws nothing:
/// a driver that does not answer is a fact. Makes no context unless there is a GPU.
[[nodiscard]] DeviceFacts probe_device(int index = 0);

/// Memory of the GPU, zeros at first. Throws worker::OutOfDeviceMemory saying what was to lie there.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(std::int64_t bytes, const char* what);
  DeviceMemory(DeviceMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory();

  [[nodiscard]] std::byte* data() const { return data_; }
  template <typename T>
  [[nodiscard]] T* as() const {
    return reinterpret_cast<T*>(data_);
  }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

/// Memory of the host that a GPU copies from without a detour.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  PinnedMemory(std::int64_t bytes, const char* what);
  PinnedMemory(PinnedMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  PinnedMemory& operator=(PinnedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  ~PinnedMemory();
  template <typename T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
};

class Stream {
 public:
  Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// A point in a stream that others wait for; it takes no time.
class Event {
 public:
  Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event();
  void record(const Stream& stream);
  void wait_on_host() const;
  void wait_on(const Stream& stream) const;

 private:
  cudaEvent_t event_ = nullptr;
};

/// What was captured from a stream, ready to be launched whole.
class Graph {
 public:
  Graph() = default;
  Graph(Graph&& other) noexcept : executable_(std::exchange(other.executable_, nullptr)) {}
  Graph& operator=(Graph&& other) noexcept {
    std::swap(executable_, other.executable_);
    return *this;
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  /// Records what `work` puts on the stream instead of doing it. Throws what `work` throws, and worker::Unsupported
  /// where something cannot be captured.
  template <typename Work>
  void capture(const Stream& stream, const Work& work) {
    begin(stream);
    try {
      work();
    } catch (...) {
      abandon(stream);
      throw;
    }
    end(stream);
  }
  [[nodiscard]] bool is_captured() const { return executable_ != nullptr; }
  void launch(const Stream& stream) const;

 private:
  static void begin(const Stream& stream);
  static void abandon(const Stream& stream);
  void end(const Stream& stream);
  cudaGraphExec_t executable_ = nullptr;
};

// Time on a stream by the GPU's own clock.

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
