#pragma once

/// Memory bandwidth by the triad a[i] = b[i] + s · c[i] (J. McCalpin, STREAM, 1995): 12 bytes an element are counted,
/// what the program moves; the read of a[i] that a cache does before a write is not.

#include <cstddef>
#include <memory>

namespace nocturne::machine {

/// Three arrays of floats, aligned to huge pages where the system gives them. The memory is not touched before fill().
class TriadArrays {
 public:
  explicit TriadArrays(std::size_t elements);
  /// Touches all memory: in the thread that will use it.
  void fill();
  void run(float scale);
  /// Whether a holds what run(scale) must have written.
  [[nodiscard]] bool is_right(float scale) const;
  [[nodiscard]] double sum() const;  ///< of some elements of a, to show
  [[nodiscard]] double bytes_moved() const { return 12.0 * static_cast<double>(elements_); }

 private:
  struct Free {
    void operator()(float* memory) const;
  };
  std::size_t elements_;
  std::unique_ptr<float, Free> memory_;
};

/// Elements of each array of each thread: together at least four times the last-level cache, at most a quarter of the
/// memory that is free.
[[nodiscard]] std::size_t triad_elements(std::size_t threads);

}  // namespace nocturne::machine
