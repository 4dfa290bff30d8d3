#pragma once

/// How long a load takes that nothing can hide: each address is what the load before it brought.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace nocturne::machine {

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

}  // namespace nocturne::machine
