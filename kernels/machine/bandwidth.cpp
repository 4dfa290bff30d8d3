#include "kernels/machine/bandwidth.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "kernels/machine/topology.hpp"

namespace nocturne::machine {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Inlined into one function per instruction set, which vectorises it accordingly.
[[gnu::always_inline]] inline void triad(float* __restrict a, const float* __restrict b, const float* __restrict c,
                                         float scale, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) a[i] = b[i] + scale * c[i];
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) void triad_avx512f(float* a, const float* b, const float* c, float scale,
                                                      std::size_t count) {
  triad(a, b, c, scale, count);
}
__attribute__((target("avx2,fma"))) void triad_avx2(float* a, const float* b, const float* c, float scale,
                                                    std::size_t count) {
  triad(a, b, c, scale, count);
}
#endif

void run_triad(float* a, const float* b, const float* c, float scale, std::size_t count) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return triad_avx512f(a, b, c, scale, count);
  if (__builtin_cpu_supports("avx2")) return triad_avx2(a, b, c, scale, count);
#endif
  triad(a, b, c, scale, count);
}

// Small numbers, exact in f32 with any scale that is an integer: fused or not, the sum is the same.
float b_at(std::size_t i) {
  return static_cast<float>(i % 13);
}
float c_at(std::size_t i) {
  return static_cast<float>(i % 7);
}

}  // namespace

TriadArrays::TriadArrays(std::size_t elements) : elements_(elements) {
  const std::size_t bytes = (3 * elements * sizeof(float) + kHugePage - 1) / kHugePage * kHugePage;
  void* memory = std::aligned_alloc(kHugePage, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  madvise(memory, bytes, MADV_HUGEPAGE);  // a wish
  memory_.reset(static_cast<float*>(memory));
}

void TriadArrays::Free::operator()(float* memory) const {
  std::free(memory);
}

void TriadArrays::fill() {
  float* a = memory_.get();
  float* b = a + elements_;
  float* c = b + elements_;
  for (std::size_t i = 0; i < elements_; ++i) {
    a[i] = -1;
    b[i] = b_at(i);
    c[i] = c_at(i);
  }
}

void TriadArrays::run(float scale, std::int64_t passes) {
  float* a = memory_.get();
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    run_triad(a, a + elements_, a + 2 * elements_, scale, elements_);
    asm volatile("" ::: "memory");  // or the compiler might see that the second pass writes the same again
  }
}

bool TriadArrays::is_right(float scale) const {
  const float* a = memory_.get();
  for (std::size_t i = 0; i < elements_; ++i) {
    if (a[i] != b_at(i) + scale * c_at(i)) return false;
  }
  return true;
}

double TriadArrays::sum() const {
  double sum = 0;
  for (std::size_t i = 0; i < elements_; i += 4096) sum += static_cast<double>(memory_.get()[i]);
  return sum;
}

std::size_t triad_elements(const std::vector<int>& cpus) {
  // Bytes of one array, all threads together.
  const std::size_t wanted = std::min(4 * last_cache_bytes(cpus), free_memory_bytes() / 4 / 3);
  return std::max<std::size_t>(wanted / sizeof(float) / cpus.size(), 4096);
}

}  // namespace nocturne::machine
