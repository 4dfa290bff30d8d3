/// The functions of CUDA's runtime that nocturne-cudnn calls, on the played GPU.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>

#include "tests/kernels/cuda/played_gpu/played_device.hpp"

using nocturne::played::Access;
using nocturne::played::fail;
using nocturne::played::Work;

struct CUgraph_st {
  std::vector<Work> work;
};
struct CUgraphExec_st {
  std::vector<Work> work;
};

namespace {

CUstream_st default_stream;
std::set<CUstream_st*> streams = {&default_stream};
std::set<const void*> pinned;
float clock_ms = 0;
int streams_captured = 0;

CUstream_st& known(cudaStream_t stream) {
  if (stream == nullptr) return default_stream;
  if (!streams.contains(stream)) fail("a stream that is none");
  return *stream;
}

void run_first(CUstream_st& stream) {
  const Access access;
  const Work work = std::move(stream.work.front());
  stream.work.pop_front();
  stream.running = true;  // what waits within is not overtaken by what comes after
  work.run();
  stream.running = false;
  clock_ms += 0.001F * work.passes;
}

// Eager streams run as far as they may.
void run_eager() {
  bool moved = true;
  while (moved) {
    moved = false;
    for (CUstream_st* each : streams) {
      if (!each->eager || each->running || each->work.empty()) continue;
      if (each->work.front().ready && !each->work.front().ready()) continue;
      run_first(*each);
      moved = true;
    }
  }
}

// Runs the stream's work in order, until there is none or `enough` says so.
template <typename Enough>
void run(CUstream_st& stream, const Enough& enough) {
  const Access access;
  if (stream.running) fail("a stream waits for what comes after it");
  while (!stream.work.empty() && !enough()) {
    run_first(stream);
    run_eager();
  }
}

bool is_eager(unsigned number) {
  const char* named = std::getenv("NOCTURNE_PLAYED_EAGER");
  return named != nullptr && std::strchr(named, static_cast<int>('0' + number)) != nullptr;
}

void reach(CUevent_st& event, std::uint64_t time) {
  if (event.reached >= time) return;
  run(known(event.stream), [&] { return event.reached >= time; });
  if (event.reached < time) fail("an event is waited for that nothing will reach");
}

void check_copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (nocturne::played::is_on_device(to, bytes) != to_device) fail("a copy to where it says it does not go");
  if (nocturne::played::is_on_device(from, bytes) != from_device) fail("a copy from where it says it does not come");
}

}  // namespace

namespace nocturne::played {

void enqueue(cudaStream_t stream, std::function<void()> run, float passes) {
  put(stream, {.run = std::move(run), .passes = passes});
}

void put(cudaStream_t stream, Work work) {
  CUstream_st& on = known(stream);
  if (on.captured != nullptr) {
    on.captured->push_back(std::move(work));
  } else {
    on.work.push_back(std::move(work));
  }
  run_eager();
}

void drain(cudaStream_t stream) {
  run(known(stream), [] { return false; });
}

void drain_all() {
  for (CUstream_st* each : streams) run(*each, [] { return false; });
}

bool capturing() {
  return streams_captured > 0;
}

}  // namespace nocturne::played

namespace played = nocturne::played;

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
  std::strcpy(properties->name, "played GPU");
  properties->major = 9;
  properties->totalGlobalMem = played::total_bytes();
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
  *free = played::free_bytes();
  *total = played::total_bytes();
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
      return "an error of the played GPU";
  }
}

cudaError_t cudaGetLastError(void) {
  return cudaSuccess;
}

// --- memory ---

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  if (played::capturing()) return cudaErrorStreamCaptureUnsupported;
  *data = played::allocate(bytes);
  return *data == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t cudaFree(void* data) {
  if (played::capturing()) return cudaErrorStreamCaptureUnsupported;
  played::drain_all();  // as CUDA does
  if (data != nullptr) played::release(data);
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
  played::drain_all();
  std::free(data);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (played::capturing()) return cudaErrorStreamCaptureUnsupported;
  check_copy(to, from, bytes, kind);
  played::drain(nullptr);  // and no other: streams that do not block are not waited for
  const Access access;
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  check_copy(to, from, bytes, kind);
  if (kind == cudaMemcpyHostToDevice && !pinned.contains(from)) fail("a copy from memory that is not pinned waits");
  if (kind == cudaMemcpyDeviceToHost && !pinned.contains(to)) fail("a copy to memory that is not pinned waits");
  played::enqueue(stream, [=] { std::memcpy(to, from, bytes); });
  return cudaSuccess;
}

cudaError_t cudaMemset(void* data, int value, std::size_t bytes) {
  if (played::capturing()) return cudaErrorStreamCaptureUnsupported;
  return cudaMemsetAsync(data, value, bytes, nullptr);
}

cudaError_t cudaMemsetAsync(void* data, int value, std::size_t bytes, cudaStream_t stream) {
  if (!played::is_on_device(data, bytes)) fail("what is set does not lie on the device");
  played::enqueue(stream, [=] { std::memset(data, value, bytes); });
  return cudaSuccess;
}

// --- streams and events ---

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  static unsigned made = 0;
  *stream = new CUstream_st{.eager = is_eager(made++)};
  streams.insert(*stream);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  played::drain(stream);
  streams.erase(stream);
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (known(stream).captured != nullptr) return cudaErrorStreamCaptureUnsupported;
  played::drain(stream);
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void) {
  if (played::capturing()) return cudaErrorStreamCaptureUnsupported;
  played::drain_all();
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
  played::drain_all();  // work that names it
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  event->stream = stream;
  const std::uint64_t time = ++event->recorded;
  played::enqueue(
      stream,
      [=] {
        event->reached = std::max(event->reached, time);
        event->at_ms = clock_ms;
      },
      0);
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  reach(*event, event->recorded);
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  if (begin->reached < begin->recorded || end->reached < end->recorded) return cudaErrorNotReady;
  *milliseconds = end->at_ms - begin->at_ms;
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const std::uint64_t time = event->recorded;
  played::put(stream,
              {.run = [=] { reach(*event, time); }, .passes = 0, .ready = [=] { return event->reached >= time; }});
  return cudaSuccess;
}

// --- graphs ---

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (stream == nullptr || known(stream).captured != nullptr) return cudaErrorStreamCaptureUnsupported;
  stream->captured = new std::vector<Work>;
  ++streams_captured;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  if (known(stream).captured == nullptr) return cudaErrorIllegalState;
  *graph = new CUgraph_st{std::move(*stream->captured)};
  delete std::exchange(stream->captured, nullptr);
  --streams_captured;
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
  for (const Work& each : executable->work) played::put(stream, each);
  return cudaSuccess;
}

}  // extern "C"
