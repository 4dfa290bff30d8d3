#include "tests/kernels/cuda/simulated_gpu/simulated_threads.hpp"

#include <setjmp.h>
#include <ucontext.h>

#include <memory>
#include <vector>

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace nocturne::simulated {
namespace {

constexpr std::size_t kStack = std::size_t{64} << 10;

// Threads that wait for each other: the last to come lets all go on.
struct Barrier {
  unsigned members = 0, waiting = 0;
  std::uint64_t opened = 0;

  void open_if_all() {
    if (members == 0 || waiting < members) return;
    waiting = 0;
    ++opened;
  }
};

// Where a stack goes on. swapcontext() asks the kernel for the mask of signals each time, a third of a simulation's
// time; it makes the first step onto a stack, and all of them under the address sanitizer, which takes a jump for an
// exception.
class Place {
 public:
  void begin_on(std::byte* stack, void (*function)()) {
    getcontext(&context_);
    context_.uc_stack = {.ss_sp = stack, .ss_flags = 0, .ss_size = kStack};
    makecontext(&context_, function, 0);
  }
  void leave_for(Place& other) {
#ifndef __SANITIZE_ADDRESS__
    left_ = true;
    if (_setjmp(jump_) != 0) return;
    if (other.left_) _longjmp(other.jump_, 1);
#endif
    swapcontext(&context_, &other.context_);
  }

 private:
  ucontext_t context_{};
  [[maybe_unused]] jmp_buf jump_{};
  [[maybe_unused]] bool left_ = false;  // by a jump, which it can be entered by
};

// A stack on which threads run one after the other; one that waits keeps it.
struct Fiber {
  Place place;
  std::unique_ptr<std::byte[]> stack = std::make_unique_for_overwrite<std::byte[]>(kStack);
  unsigned thread = 0;
  const Barrier* waits_for = nullptr;  // null: it is free
  std::uint64_t until = 0;
};

struct Block {
  const std::function<void()>* kernel = nullptr;
  unsigned threads = 0, begun = 0;
  Barrier all;
  std::vector<Barrier> warp_barriers;
  std::vector<Warp> warps;
};

Block block;
Place scheduler;
std::vector<std::unique_ptr<Fiber>> fibers;
Fiber* current = nullptr;

void end_thread() {
  --block.all.members;
  block.all.open_if_all();
  Barrier& warp = block.warp_barriers[current->thread / kWarp];
  --warp.members;
  if (warp.waiting > 0) fail("lanes wait for one that ended");
}

void run_threads() {
  while (true) {
    while (block.begun < block.threads) {
      current->thread = threadIdx.x = block.begun++;
      (*block.kernel)();
      end_thread();
    }
    current->place.leave_for(scheduler);
  }
}

void resume(Fiber& fiber) {
  current = &fiber;
  threadIdx.x = fiber.thread;
  scheduler.leave_for(fiber.place);
}

Fiber& make_fiber() {
  Fiber& fiber = *fibers.emplace_back(std::make_unique<Fiber>());
  fiber.place.begin_on(fiber.stack.get(), &run_threads);
  return fiber;
}

Fiber& free_fiber() {
  for (const auto& each : fibers)
    if (each->waits_for == nullptr) return *each;
  return make_fiber();
}

void wait(Barrier& barrier) {
  Fiber& own = *current;
  own.waits_for = &barrier;
  own.until = barrier.opened + 1;
  ++barrier.waiting;
  barrier.open_if_all();
  while (barrier.opened < own.until) own.place.leave_for(scheduler);
  own.waits_for = nullptr;
}

void run_block() {
  block.begun = 0;
  block.all = {.members = block.threads};
  const unsigned warps = (block.threads + kWarp - 1) / kWarp;
  block.warp_barriers.assign(warps, {.members = kWarp});
  if (block.threads % kWarp != 0) block.warp_barriers.back().members = block.threads % kWarp;
  block.warps.assign(warps, {});
  while (block.all.members > 0) {
    bool moved = false;
    if (block.begun < block.threads) {
      resume(free_fiber());
      moved = true;
    }
    for (const auto& each : fibers) {
      if (each->waits_for == nullptr || each->waits_for->opened < each->until) continue;
      resume(*each);
      moved = true;
    }
    if (!moved) fail("threads wait for each other for ever");
  }
}

}  // namespace

Warp& warp_of_thread() {
  return block.warps[threadIdx.x / kWarp];
}

void wait_for_warp() {
  Barrier& warp = block.warp_barriers[threadIdx.x / kWarp];
  if (warp.members != kWarp) fail("a shuffle among fewer lanes than a warp has");
  wait(warp);
}

void wait_for_block() {
  wait(block.all);
}

void run_grid(unsigned blocks, unsigned threads, const std::function<void()>& kernel) {
  block.kernel = &kernel;
  block.threads = threads;
  gridDim = dim3(blocks);
  blockDim = dim3(threads);
  threadIdx = blockIdx = {};
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) run_block();
}

}  // namespace nocturne::simulated
