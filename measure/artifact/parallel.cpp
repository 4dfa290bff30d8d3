#include "measure/artifact/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace nocturne::measure {

void for_each_in_parallel(std::size_t count, int jobs, const std::function<bool(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  const auto take = [&] {
    for (std::size_t i = next++; i < count && !failed; i = next++)
      if (!work(i)) failed = true;
  };
  std::vector<std::jthread> others;
  const std::size_t wanted = std::min(count, static_cast<std::size_t>(std::max(1, jobs)));
  for (std::size_t i = 1; i < wanted; ++i) others.emplace_back(take);
  take();
}

}  // namespace nocturne::measure
