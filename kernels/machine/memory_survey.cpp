#include "kernels/machine/memory_survey.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <new>
#include <numeric>
#include <random>
#include <utility>

#include "kernels/machine/team.hpp"
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

constexpr std::size_t kRingPage = std::size_t{2} << 20;

constexpr float kScale = 3;
constexpr std::int64_t kMostPasses = std::int64_t{1} << 32;
constexpr std::int64_t kFewestSteps = 4096;
constexpr std::int64_t kMostSteps = std::int64_t{1} << 32;

Measurement memory_measurement(std::string name, std::string unit, std::string kernel, std::size_t threads,
                               std::size_t bytes) {
  return {.name = std::move(name),
          .unit = std::move(unit),
          .threads = static_cast<int>(threads),
          .kernel = std::move(kernel),
          .rate = {},
          .absent = {},
          .working_set_bytes = static_cast<std::int64_t>(bytes)};
}

using Rings = std::vector<std::unique_ptr<PointerRing>>;

/// `ready(i)`: in the thread of ring i, before it is timed.
void follow_rings(Measurement& result, const std::vector<int>& cpus, const Rings& rings, Seconds budget,
                  const std::function<void(std::size_t)>& ready) {
  const auto once = [&](std::int64_t steps) {
    return time_together(cpus, ready, [&](std::size_t i) { rings[i]->follow(static_cast<std::size_t>(steps)); });
  };
  const std::int64_t steps = enough_iterations(kFewestSteps, kMostSteps, once);
  result.rate = repeat(budget, [&] { return seconds_of(once(steps)) / static_cast<double>(steps) * 1e9; });
  for (const auto& ring : rings) {
    result.right = result.right && ring->is_right();
    result.sum += static_cast<double>(ring->position());
  }
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
  for (std::size_t i = 0; i < elements_; ++i)
    if (a[i] != b_at(i) + scale * c_at(i)) return false;
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

PointerRing::PointerRing(std::size_t bytes)
    : count_(std::clamp<std::size_t>(bytes / sizeof(Line), 2, std::size_t{1} << 31)) {
  const std::size_t room = (count_ * sizeof(Line) + kRingPage - 1) / kRingPage * kRingPage;
  void* memory = std::aligned_alloc(kRingPage, room);
  if (memory == nullptr) throw std::bad_alloc();
  madvise(memory, room, MADV_HUGEPAGE);  // a wish
  lines_.reset(static_cast<Line*>(memory));
  order_.reserve(count_);  // link() runs where nobody could be told that there is no room
}

void PointerRing::Free::operator()(Line* memory) const {
  std::free(memory);
}

void PointerRing::link(std::uint64_t seed) {
  order_.resize(count_);
  std::iota(order_.begin(), order_.end(), std::uint32_t{0});
  std::mt19937_64 random(seed);
  std::ranges::shuffle(order_, random);
  for (std::size_t i = 0; i < count_; ++i) lines_[order_[i]].next = &lines_[order_[(i + 1) % count_]];
  cursor_ = &lines_[order_[0]];
  followed_ = 0;
}

void PointerRing::follow(std::size_t steps) {
  Line* line = cursor_;
  for (std::size_t i = 0; i < steps; ++i) line = line->next;
  cursor_ = line;
  followed_ += steps;
}

bool PointerRing::is_right() const {
  return cursor_ == &lines_[order_[followed_ % count_]];
}

std::size_t PointerRing::position() const {
  return static_cast<std::size_t>(cursor_ - lines_.get());
}

Measurement measure_bandwidth(std::string name, const std::vector<int>& cpus, std::size_t elements, Seconds budget) {
  Measurement result = memory_measurement(std::move(name), "GB/s", "triad", cpus.size(),
                                          static_cast<std::size_t>(kTriadBytes) * elements);
  std::vector<TriadArrays> arrays;
  double bytes = 0;  // of one pass of all threads
  for (std::size_t i = 0; i < cpus.size(); ++i) bytes += arrays.emplace_back(elements).bytes_moved();
  bool filled = false;
  const auto fill_once = [&](std::size_t i) {
    if (!filled) arrays[i].fill();
  };
  const auto once = [&](std::int64_t passes) {
    const auto took = time_together(cpus, fill_once, [&](std::size_t i) { arrays[i].run(kScale, passes); });
    filled = true;
    return took;
  };
  const std::int64_t passes = enough_iterations(1, kMostPasses, once);
  result.rate = repeat(budget, [&] { return bytes * static_cast<double>(passes) / seconds_of(once(passes)) / 1e9; });
  for (const TriadArrays& array : arrays) {
    result.right = result.right && array.is_right(kScale);
    result.sum += array.sum();
  }
  return result;
}

Measurement measure_latency(std::string name, const std::vector<int>& cpus, std::size_t bytes, Seconds budget) {
  Measurement result = memory_measurement(std::move(name), "ns", "pointers", cpus.size(), bytes);
  Rings rings;
  for (std::size_t i = 0; i < cpus.size(); ++i) rings.push_back(std::make_unique<PointerRing>(bytes));
  // Linked by the thread that follows it: its memory lies near.
  static_cast<void>(time_together(cpus, [](std::size_t) {}, [&](std::size_t i) { rings[i]->link(i + 1); }));
  follow_rings(result, cpus, rings, budget, [](std::size_t) {});
  return result;
}

Measurement measure_distance(std::string name, int cpu, int memory_cpu, std::size_t bytes, Seconds budget) {
  Measurement result = memory_measurement(std::move(name), "ns", "pointers", 1, bytes);
  Rings rings;
  rings.push_back(std::make_unique<PointerRing>(bytes));
  static_cast<void>(
      time_together({memory_cpu}, [&](std::size_t) { pin_to(memory_cpu); }, [&](std::size_t) { rings[0]->link(1); }));
  follow_rings(result, {cpu}, rings, budget, [&](std::size_t) { pin_to(cpu); });
  return result;
}

}  // namespace nocturne::machine
