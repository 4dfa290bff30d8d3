#pragma once

/// Memory bandwidth by the triad a[i] = b[i] + s · c[i] (J. McCalpin, STREAM, 1995): 12 bytes an element are counted,
/// what the program moves; the read of a[i] that a cache does before a write is not. On arrays that fit into a cache,
/// many passes over them give that cache's bandwidth.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace nocturne::machine {

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

}  // namespace nocturne::machine
