#pragma once

/// Runs loops on oneDNN's own threads.
///
/// oneDNN for the CPU is built on GNU OpenMP (libgomp). These functions call libgomp's entry points themselves instead
/// of using `#pragma omp`: so every compiler shares the one pool of threads, where clang's -fopenmp would start a
/// second one beside it, and the sources need no OpenMP flag. Link -lgomp.

#include <sched.h>

#include <cstdint>
#include <type_traits>

namespace nocturne::onednn {

/// Number of threads of all later parallel regions, oneDNN's too. REQUIRES: count >= 1.
void set_threads(int count);
/// What a parallel region would use now: set_threads(), else OMP_NUM_THREADS, else the CPUs of the affinity mask.
[[nodiscard]] int threads();

using RangeFunction = void (*)(const void* context, std::int64_t begin, std::int64_t end);

/// Splits [0, count) into one contiguous range a thread, cut at multiples of `grain`, and waits for all of them. The
/// cut depends on nothing but count, grain and the number of threads. `body` must not throw.
void parallel_ranges(std::int64_t count, std::int64_t grain, RangeFunction body, const void* context);

/// parallel_ranges for a callable `body(begin, end)`.
template <typename Body>
void parallel_for(std::int64_t count, std::int64_t grain, const Body& body) {
  parallel_ranges(
      count, grain,
      [](const void* context, std::int64_t begin, std::int64_t end) {
        (*static_cast<const Body*>(context))(begin, end);
      },
      &body);
}

// Where threads run that are not of OpenMP's pool.
//
// With OMP_PROC_BIND libgomp binds the thread that loads it to the first place, and a thread begins with the affinity
// of the one that makes it: threads that read ahead would all share the CPU of the pool's first thread.

/// While it lives, the calling thread, and so each that it makes, may run on the CPUs of all places; then it is bound
/// as before. Does nothing where the environment binds nothing, or the system refuses. REQUIRES: ends in the same
/// thread.
class OnAllPlaces {
 public:
  OnAllPlaces();
  OnAllPlaces(const OnAllPlaces&) = delete;
  OnAllPlaces& operator=(const OnAllPlaces&) = delete;
  ~OnAllPlaces();

 private:
  cpu_set_t before_;
  bool widened_ = false;
};

}  // namespace nocturne::onednn
