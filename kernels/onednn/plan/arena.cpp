#include "kernels/onednn/plan/arena.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>

#include "kernels/onednn/parallel.hpp"

namespace nocturne::onednn {
namespace {

// A line more than whole pages would let neighbours begin at the same place of a page, and so on the same cache sets.
std::int64_t occupied(std::int64_t bytes) {
  constexpr std::int64_t kLine = 64;
  return (std::max<std::int64_t>(bytes, 1) + kLine - 1) / kLine * kLine + kLine;
}

}  // namespace

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

worker::MemoryPlan place_buffers(const std::vector<worker::Lifetime>& buffers) {
  return worker::plan_memory(buffers, occupied);
}

}  // namespace nocturne::onednn
