#include "tests/kernels/cuda/simulated_gpu/simulated_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

namespace nocturne::simulated {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kTotal = std::size_t{2} << 30;

struct Allocation {
  std::byte* pages = nullptr;
  std::size_t mapped = 0, bytes = 0;
};

struct Memory {
  std::map<const std::byte*, Allocation> allocations;  // by where the data begins
  std::size_t used = 0;
  int open = 0;
};

Memory& memory() {
  static Memory all;
  return all;
}

void protect(const Allocation& each, int how) {
  if (mprotect(each.pages, each.mapped - kPage, how) != 0) fail("mprotect");
}

}  // namespace

void fail(const char* what) {
  std::fprintf(stderr, "simulated GPU: %s\n", what);
  std::abort();
}

// The data ends where the forbidden page begins, but for what 256 bytes of alignment take.
void* allocate(std::size_t bytes) {
  const std::size_t aligned = (bytes + 255) / 256 * 256, data = (aligned + kPage - 1) / kPage * kPage;
  if (memory().used + data > kTotal) return nullptr;
  void* pages = mmap(nullptr, data + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  const Allocation made{.pages = static_cast<std::byte*>(pages), .mapped = data + kPage, .bytes = bytes};
  if (mprotect(made.pages + data, kPage, PROT_NONE) != 0) fail("mprotect");
  std::byte* begin = made.pages + data - aligned;
  std::fill_n(begin, bytes, std::byte{0xff});  // no number, in any type
  protect(made, memory().open > 0 ? PROT_READ | PROT_WRITE : PROT_NONE);
  memory().allocations.emplace(begin, made);
  memory().used += data;
  return begin;
}

void release(void* data) {
  const auto found = memory().allocations.find(static_cast<std::byte*>(data));
  if (found == memory().allocations.end()) fail("what is freed was not allocated, or was freed before");
  memory().used -= found->second.mapped - kPage;
  munmap(found->second.pages, found->second.mapped);
  memory().allocations.erase(found);
}

bool is_on_device(const void* data, std::size_t bytes) {
  const auto* begin = static_cast<const std::byte*>(data);
  auto after = memory().allocations.upper_bound(begin);
  if (after == memory().allocations.begin()) return false;
  --after;
  return begin + bytes <= after->first + after->second.bytes;
}

std::size_t free_bytes() {
  return kTotal - memory().used;
}

std::size_t total_bytes() {
  return kTotal;
}

Access::Access() {
  if (memory().open++ > 0) return;
  for (const auto& [begin, each] : memory().allocations) protect(each, PROT_READ | PROT_WRITE);
}

Access::~Access() {
  if (--memory().open > 0) return;
  for (const auto& [begin, each] : memory().allocations) protect(each, PROT_NONE);
}

}  // namespace nocturne::simulated
