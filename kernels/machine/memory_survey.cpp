#include "kernels/machine/memory_survey.hpp"

#include <functional>
#include <memory>
#include <utility>

#include "kernels/machine/bandwidth.hpp"
#include "kernels/machine/latency.hpp"
#include "kernels/machine/team.hpp"

namespace nocturne::machine {
namespace {

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
