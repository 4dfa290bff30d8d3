#pragma once

/// Disjoint sets: what belongs together because something joins it.

#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace nocturne::space {

/// Union-find with path halving.
class Partition {
 public:
  explicit Partition(std::size_t size) : parents_(size) { std::iota(parents_.begin(), parents_.end(), std::size_t{0}); }

  void join(std::size_t a, std::size_t b) {
    a = find(a);
    b = find(b);
    parents_[a < b ? b : a] = a < b ? a : b;  // the smallest member stands for its set
  }

  [[nodiscard]] std::size_t find(std::size_t member) {
    while (parents_[member] != member) member = parents_[member] = parents_[parents_[member]];
    return member;
  }

 private:
  std::vector<std::size_t> parents_;
};

}  // namespace nocturne::space
