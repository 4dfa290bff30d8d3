#pragma once

/// Owns the buffers of a plan.

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "kernels/worker/memory_plan.hpp"

namespace nocturne::onednn {

/// Buffers come from malloc's family, so that the allocator and the huge pages under test are the ones used; they are
/// zeroed in parallel, which also places their pages near the threads that will use them, before the first step.
class Arena {
 public:
  /// Starts at a cache line; not at a huge page, which would put all buffers on the same sets of the caches. Throws
  /// std::bad_alloc.
  void* allocate(std::size_t bytes);
  template <typename T>
  T* allocate_array(std::size_t count) {
    return static_cast<T*>(allocate(count * sizeof(T)));
  }
  dnnl::memory allocate_memory(const dnnl::memory::desc& desc, const dnnl::engine& engine) {
    return {desc, engine, allocate(desc.get_size())};
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(void* buffer) const { std::free(buffer); }
  };
  std::vector<std::unique_ptr<void, Free>> buffers_;
  std::size_t bytes_ = 0;
};

// Gives the buffers of a plan their places in one slab, so that dead buffers' bytes are used again
// (kernels/worker/memory_plan.hpp says how).

/// Buffers live from the position of the first operation that touches them to that of the last, both included; offsets
/// are multiples of a cache line. Two buffers that live at the same position never share a byte. REQUIRES: first <=
/// last.
[[nodiscard]] worker::MemoryPlan place_buffers(const std::vector<worker::Lifetime>& buffers);

}  // namespace nocturne::onednn
