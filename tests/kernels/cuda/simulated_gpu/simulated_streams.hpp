#pragma once

/// The simulated GPU's streams, strictly: what may happen late happens late.
///
/// Work put on a stream waits until somebody waits for it, and then runs to just that point; so a copy from pinned
/// memory that was reused too early, a result that was read before it was there, and an event that was forgotten give
/// wrong numbers every time instead of once in a thousand. NOCTURNE_SIMULATED_EAGER names streams, by the order in
/// which they were made ("1", "0,1"), that do the opposite: they run as soon and as far as what they wait for lets
/// them. Their clock counts passes over memory, not time.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace nocturne::simulated {

/// `passes` over memory are what the simulated clock takes it to last.
struct Work {
  std::function<void()> run;
  float passes = 1;
  std::function<bool()> ready = nullptr;  ///< whether it may run by itself; null: always
};

[[nodiscard]] cudaStream_t make_stream();
/// Runs what is on it before.
void end_stream(cudaStream_t stream);

/// Puts work on a stream (null: the default one), or into what is being captured from it.
void enqueue(cudaStream_t stream, std::function<void()> run, float passes = 1);
void put(cudaStream_t stream, Work work);
/// Runs what is on the stream.
void drain(cudaStream_t stream);
void drain_all();

/// Events: put on a stream that one is reached; let a stream wait for what was recorded; wait on the host.
void record(cudaStream_t stream, CUevent_st& event);
void let_wait(cudaStream_t stream, CUevent_st& event);
void reach(CUevent_st& event);

/// False where a capture cannot begin: of the default stream, or of one that is captured.
[[nodiscard]] bool begin_capture(cudaStream_t stream);
[[nodiscard]] bool is_captured(cudaStream_t stream);
/// REQUIRES: it is captured.
[[nodiscard]] std::vector<Work> end_capture(cudaStream_t stream);
/// Whether any stream is: some calls are then forbidden to the host.
[[nodiscard]] bool capturing();

}  // namespace nocturne::simulated

struct CUevent_st {
  cudaStream_t stream = nullptr;  ///< on which it was recorded last
  std::uint64_t recorded = 0, reached = 0;
  float at_ms = 0;
};
