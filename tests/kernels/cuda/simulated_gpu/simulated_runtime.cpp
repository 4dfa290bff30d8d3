/// The functions of CUDA's runtime that nocturne-cudnn calls, on the simulated GPU.

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>
#include <set>

#include "tests/kernels/cuda/simulated_gpu/simulated_memory.hpp"
#include "tests/kernels/cuda/simulated_gpu/simulated_streams.hpp"

using nocturne::simulated::Access;
using nocturne::simulated::fail;
using nocturne::simulated::Work;

struct CUgraph_st {
  std::vector<Work> work;
};
struct CUgraphExec_st {
  std::vector<Work> work;
};

namespace {

std::set<const void*> pinned;

void check_copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (nocturne::simulated::is_on_device(to, bytes) != to_device) fail("a copy to where it says it does not go");
  if (nocturne::simulated::is_on_device(from, bytes) != from_device) fail("a copy from where it says it does not come");
}

}  // namespace

namespace simulated = nocturne::simulated;

extern "C" {

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) return cudaErrorInvalidDevice;
  *properties = {};
  std::strcpy(properties->name, "simulated GPU");
  properties->major = 9;
  properties->totalGlobalMem = simulated::total_bytes();
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  if (attribute != cudaDevAttrMultiProcessorCount) return cudaErrorInvalidValue;
  *value = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char*, int, int) {
  return cudaErrorNotSupported;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = simulated::free_bytes();
  *total = simulated::total_bytes();
  return cudaSuccess;
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
    default:
      return "an error of the simulated GPU";
  }
}

cudaError_t cudaGetLastError(void) {
  return cudaSuccess;
}

// --- memory ---

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  if (simulated::capturing()) return cudaErrorStreamCaptureUnsupported;
  *data = simulated::allocate(bytes);
  return *data == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t cudaFree(void* data) {
  if (simulated::capturing()) return cudaErrorStreamCaptureUnsupported;
  simulated::drain_all();  // as CUDA does
  if (data != nullptr) simulated::release(data);
  return cudaSuccess;
}

cudaError_t cudaMallocHost(void** data, std::size_t bytes) {
  *data = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (*data == nullptr) return cudaErrorMemoryAllocation;
  std::memset(*data, 0xff, bytes);
  pinned.insert(*data);
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* data) {
  if (pinned.erase(data) == 0) fail("what is freed is no pinned memory");
  simulated::drain_all();
  std::free(data);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (simulated::capturing()) return cudaErrorStreamCaptureUnsupported;
  check_copy(to, from, bytes, kind);
  simulated::drain(nullptr);  // and no other: streams that do not block are not waited for
  const Access access;
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  check_copy(to, from, bytes, kind);
  if (kind == cudaMemcpyHostToDevice && !pinned.contains(from)) fail("a copy from memory that is not pinned waits");
  if (kind == cudaMemcpyDeviceToHost && !pinned.contains(to)) fail("a copy to memory that is not pinned waits");
  simulated::enqueue(stream, [=] { std::memcpy(to, from, bytes); });
  return cudaSuccess;
}

cudaError_t cudaMemset(void* data, int value, std::size_t bytes) {
  if (simulated::capturing()) return cudaErrorStreamCaptureUnsupported;
  return cudaMemsetAsync(data, value, bytes, nullptr);
}

cudaError_t cudaMemsetAsync(void* data, int value, std::size_t bytes, cudaStream_t stream) {
  if (!simulated::is_on_device(data, bytes)) fail("what is set does not lie on the device");
  simulated::enqueue(stream, [=] { std::memset(data, value, bytes); });
  return cudaSuccess;
}

// --- streams and events ---

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = simulated::make_stream();
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  simulated::end_stream(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (simulated::is_captured(stream)) return cudaErrorStreamCaptureUnsupported;
  simulated::drain(stream);
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void) {
  if (simulated::capturing()) return cudaErrorStreamCaptureUnsupported;
  simulated::drain_all();
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new CUevent_st;
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return cudaEventCreate(event);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  simulated::drain_all();  // work that names it
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  simulated::record(stream, *event);
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  simulated::reach(*event);
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  if (begin->reached < begin->recorded || end->reached < end->recorded) return cudaErrorNotReady;
  *milliseconds = end->at_ms - begin->at_ms;
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  simulated::let_wait(stream, *event);
  return cudaSuccess;
}

// --- graphs ---

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  return simulated::begin_capture(stream) ? cudaSuccess : cudaErrorStreamCaptureUnsupported;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  if (!simulated::is_captured(stream)) return cudaErrorIllegalState;
  *graph = new CUgraph_st{simulated::end_capture(stream)};
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  *executable = new CUgraphExec_st{graph->work};
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete executable;
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  for (const Work& each : executable->work) simulated::put(stream, each);
  return cudaSuccess;
}

}  // extern "C"
