#include "kernels/cuda/device/device.hpp"

#include <string>

#include "kernels/cuda/device/check.hpp"
#include "kernels/worker/refusal.hpp"

namespace nocturne::cuda {

DeviceFacts probe_device(int index) {
  DeviceFacts facts;
  cudaRuntimeGetVersion(&facts.runtime);
  cudaDriverGetVersion(&facts.driver);  // 0 where there is none
  if (const cudaError_t status = cudaGetDeviceCount(&facts.count); status != cudaSuccess) {
    facts.count = 0;
    facts.error = facts.driver == 0 ? "no NVIDIA driver answers" : cudaGetErrorString(status);
    return facts;
  }
  if (facts.count == 0) return facts;
  cudaDeviceProp properties{};
  cudaError_t told = cudaSetDevice(index);
  if (told == cudaSuccess) told = cudaGetDeviceProperties(&properties, index);
  if (told != cudaSuccess) {
    facts.error = cudaGetErrorString(told);
    return facts;
  }
  facts.name = properties.name;
  facts.major = properties.major;
  facts.minor = properties.minor;
  facts.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  char bus[32] = {};
  if (cudaDeviceGetPCIBusId(bus, sizeof bus, index) == cudaSuccess) facts.pci_bus = bus;
  std::size_t free = 0, total = 0;
  if (const cudaError_t status = cudaMemGetInfo(&free, &total); status != cudaSuccess) {  // makes the context
    facts.error = cudaGetErrorString(status);
    return facts;
  }
  facts.free_bytes = static_cast<std::int64_t>(free);
  return facts;
}

DeviceMemory::DeviceMemory(std::int64_t bytes, const char* what) : bytes_(bytes) {
  if (bytes == 0) return;
  void* data = nullptr;
  if (const cudaError_t status = cudaMalloc(&data, static_cast<std::size_t>(bytes)); status != cudaSuccess) {
    cudaGetLastError();  // or the next launch would report it again
    if (status != cudaErrorMemoryAllocation) check(status, what);
    throw worker::OutOfDeviceMemory("the GPU refused " + size_text(bytes) + " for " + what);
  }
  data_ = static_cast<std::byte*>(data);
  // Other streams do not wait for the default one's.
  cudaError_t status = cudaMemset(data, 0, static_cast<std::size_t>(bytes));
  if (status == cudaSuccess) status = cudaStreamSynchronize(nullptr);
  if (status != cudaSuccess) {
    cudaFree(std::exchange(data_, nullptr));
    check(status, what);
  }
}

DeviceMemory::~DeviceMemory() {
  if (data_ != nullptr) cudaFree(data_);
}

PinnedMemory::PinnedMemory(std::int64_t bytes, const char* what) {
  check(cudaMallocHost(&data_, static_cast<std::size_t>(bytes)), what);
}

PinnedMemory::~PinnedMemory() {
  if (data_ != nullptr) cudaFreeHost(data_);
}

Stream::Stream() {
  // Not blocking: the default stream's operations do not serialise with it.
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
}

Stream::~Stream() {
  cudaStreamDestroy(stream_);
}

Event::Event() {
  check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "event");
}

Event::~Event() {
  cudaEventDestroy(event_);
}

void Event::record(const Stream& stream) {
  check(cudaEventRecord(event_, stream.get()), "event");
}

void Event::wait_on_host() const {
  check(cudaEventSynchronize(event_), "waiting for the GPU");
}

void Event::wait_on(const Stream& stream) const {
  check(cudaStreamWaitEvent(stream.get(), event_, 0), "event");
}

Graph::~Graph() {
  if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
}

void Graph::begin(const Stream& stream) {
  check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), "CUDA graph");
}

void Graph::abandon(const Stream& stream) {
  cudaGraph_t graph = nullptr;
  cudaStreamEndCapture(stream.get(), &graph);
  if (graph != nullptr) cudaGraphDestroy(graph);
  cudaGetLastError();
}

void Graph::end(const Stream& stream) {
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream.get(), &graph), "CUDA graph");
  const cudaError_t status = cudaGraphInstantiate(&executable_, graph, 0);
  cudaGraphDestroy(graph);
  check(status, "CUDA graph");
}

void Graph::launch(const Stream& stream) const {
  check(cudaGraphLaunch(executable_, stream.get()), "CUDA graph");
}

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
