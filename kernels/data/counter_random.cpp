#include "kernels/data/counter_random.hpp"

#include <numeric>
#include <utility>

namespace nocturne::data {

void order_epoch(std::span<std::int32_t> order, std::uint64_t seed, std::int64_t epoch) {
  std::iota(order.begin(), order.end(), 0);
  const std::uint64_t key = key_of(seed, 0x0de5, static_cast<std::uint64_t>(epoch));
  for (std::size_t i = order.size(); i > 1; --i) {
    // Fisher and Yates; the remainder's bias is under 2^-33 for sets of up to 2^31 images.
    std::swap(order[i - 1], order[draw(key, i) % i]);
  }
}

std::vector<std::int32_t> epoch_order(std::int64_t count, std::uint64_t seed, std::int64_t epoch) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(count));
  order_epoch(order, seed, epoch);
  return order;
}

}  // namespace nocturne::data
