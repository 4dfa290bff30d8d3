#include "kernels/onednn/plan/arena.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "kernels/onednn/parallel.hpp"

namespace nocturne::onednn {

void* Arena::allocate(std::size_t bytes) {
  constexpr std::size_t kCacheLine = 64;
  const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + kCacheLine - 1) / kCacheLine * kCacheLine;
  void* buffer = nullptr;
  if (posix_memalign(&buffer, kCacheLine, rounded) != 0) throw std::bad_alloc();
  buffers_.emplace_back(buffer);
  parallel_for(static_cast<std::int64_t>(rounded), 1 << 16, [buffer](std::int64_t begin, std::int64_t end) {
    std::memset(static_cast<char*>(buffer) + begin, 0, static_cast<std::size_t>(end - begin));
  });
  bytes_ += rounded;
  return buffer;
}

}  // namespace nocturne::onednn
