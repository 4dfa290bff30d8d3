#pragma once

/// Bandwidth and latency of one level of the memory hierarchy, by the threads of a team that each work on their own
/// memory.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/machine/measurement.hpp"

namespace nocturne::machine {

// Memory bandwidth by the triad a[i] = b[i] + s · c[i] (J. McCalpin, STREAM, 1995): 12 bytes an element are counted,
// what the program moves; the read of a[i] that a cache does before a write is not. On arrays that fit into a cache,
// many passes over them give that cache's bandwidth.

/// Bytes moved for one element: two reads and a write.
inline constexpr double kTriadBytes = 12.0;

/// Three arrays of floats, aligned to huge pages where the system gives them. The memory is not touched before fill().
class TriadArrays {
 public:
  explicit TriadArrays(std::size_t elements);
  /// Touches all memory: in the thread that will use it.
  void fill();
  void run(float scale, std::int64_t passes = 1);
  /// Whether a holds what run(scale) must have written.
  [[nodiscard]] bool is_right(float scale) const;
  [[nodiscard]] double sum() const;  ///< sum of some elements of a, to show
  /// Bytes that one pass moves.
  [[nodiscard]] double bytes_moved() const { return kTriadBytes * static_cast<double>(elements_); }

 private:
  struct Free {
    void operator()(float* memory) const;
  };
  std::size_t elements_;
  std::unique_ptr<float, Free> memory_;
};

/// Elements of each array of each thread of a team on these CPUs: together at least four times their last caches, at
/// most a quarter of the memory that is free.
[[nodiscard]] std::size_t triad_elements(const std::vector<int>& cpus);

// How long a load takes that nothing can hide: each address is what the load before it brought.

/// Lines of 64 bytes in one ring that visits them in random order, so that no prefetcher knows the next one. Aligned
/// to huge pages where the system gives them: else misses of the TLB are part of the time, as they are in programs.
class PointerRing {
 public:
  /// As many whole lines as fit into `bytes`, at least two. The memory is not touched before link().
  explicit PointerRing(std::size_t bytes);
  /// Makes the ring: touches all memory, so in the thread, or on the node, whose memory it shall be.
  void link(std::uint64_t seed);
  /// Follows so many pointers, from where the last call ended.
  void follow(std::size_t steps);
  /// Whether it stands where that many steps must lead.
  [[nodiscard]] bool is_right() const;
  [[nodiscard]] std::size_t lines() const { return count_; }
  [[nodiscard]] std::size_t bytes() const { return count_ * sizeof(Line); }
  [[nodiscard]] std::size_t position() const;  ///< number of the line where it stands, to show

 private:
  struct alignas(64) Line {
    Line* next;
  };
  struct Free {
    void operator()(Line* memory) const;
  };
  std::size_t count_;
  std::size_t followed_ = 0;
  std::unique_ptr<Line[], Free> lines_;
  Line* cursor_ = nullptr;
  std::vector<std::uint32_t> order_;  // of the lines in the ring
};

/// GB/s of all threads together: the triad on arrays of `elements` each.
[[nodiscard]] Measurement measure_bandwidth(std::string name, const std::vector<int>& cpus, std::size_t elements,
                                            Seconds budget);

/// ns a load, mean over the threads, in rings of `bytes` each.
[[nodiscard]] Measurement measure_latency(std::string name, const std::vector<int>& cpus, std::size_t bytes,
                                          Seconds budget);

/// ns a load of a thread on `cpu` from memory that a thread on `memory_cpu` touched first.
[[nodiscard]] Measurement measure_distance(std::string name, int cpu, int memory_cpu, std::size_t bytes,
                                           Seconds budget);

}  // namespace nocturne::machine
