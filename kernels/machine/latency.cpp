#include "kernels/machine/latency.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <numeric>
#include <random>

namespace nocturne::machine {
namespace {

constexpr std::size_t kRingPage = std::size_t{2} << 20;

}  // namespace

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

}  // namespace nocturne::machine
