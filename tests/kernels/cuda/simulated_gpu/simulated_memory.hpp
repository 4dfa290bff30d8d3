#pragma once

/// The simulated GPU's memory. It can be touched by device work alone (anybody else gets a segmentation fault), is
/// followed by a page that nobody may touch, and holds no number before it is written.

#include <cstddef>

namespace nocturne::simulated {

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

}  // namespace nocturne::simulated
