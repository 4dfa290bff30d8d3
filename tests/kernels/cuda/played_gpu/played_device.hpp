#pragma once

/// A GPU played on the CPU, strictly: what may happen late happens late.
///
/// Work put on a stream waits until somebody waits for it, and then runs to just that point; so a copy from pinned
/// memory that was reused too early, a result that was read before it was there, and an event that was forgotten give
/// wrong numbers every time instead of once in a thousand. NOCTURNE_PLAYED_EAGER names streams, by the order in which
/// they were made ("1", "0,1"), that do the opposite: they run as soon and as far as what they wait for lets them.
/// Memory of the device can be touched by its own work alone
/// (anybody else gets a segmentation fault) and is followed by a page that nobody may touch. What a call is forbidden
/// to do while a stream is captured is refused. Its clock counts passes over memory, not time.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <vector>

namespace nocturne::played {

/// `passes` over memory are what the played clock takes it to last.
struct Work {
  std::function<void()> run;
  float passes = 1;
  std::function<bool()> ready = nullptr;  ///< whether it may run by itself; null: always
};

/// Puts work on a stream (null: the default one), or into what is being captured from it.
void enqueue(cudaStream_t stream, std::function<void()> run, float passes = 1);
void put(cudaStream_t stream, Work work);
/// Runs what is on the stream.
void drain(cudaStream_t stream);
void drain_all();

/// Calls on the host while a stream is captured that a capture forbids.
[[nodiscard]] bool capturing();

/// Memory that only the device's work may touch; null where there is not so much.
[[nodiscard]] void* allocate(std::size_t bytes);
void release(void* data);
/// Whether all bytes lie in one of the allocations.
[[nodiscard]] bool is_on_device(const void* data, std::size_t bytes);
[[nodiscard]] std::size_t free_bytes();
[[nodiscard]] std::size_t total_bytes();
/// Lets the host in while it lives: for copies that wait, and for work.
class Access {
 public:
  Access();
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;
  ~Access();
};

/// Ends the program, saying what no GPU would let pass.
[[noreturn]] void fail(const char* what);

}  // namespace nocturne::played

struct CUstream_st {
  std::deque<nocturne::played::Work> work;
  std::vector<nocturne::played::Work>* captured = nullptr;  ///< not null: work is kept there
  bool eager = false;
  bool running = false;
};

struct CUevent_st {
  cudaStream_t stream = nullptr;  ///< on which it was recorded last
  std::uint64_t recorded = 0, reached = 0;
  float at_ms = 0;
};
