#pragma once

/// Runs loops on oneDNN's own threads.
///
/// oneDNN for the CPU is built on GNU OpenMP (libgomp). These functions call libgomp's entry points themselves instead
/// of using `#pragma omp`: so every compiler shares the one pool of threads, where clang's -fopenmp would start a
/// second one beside it, and the sources need no OpenMP flag. Link -lgomp.

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

}  // namespace nocturne::onednn
