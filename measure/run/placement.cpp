#include "measure/run/placement.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <ranges>
#include <tuple>
#include <utility>

namespace nocturne::measure {
namespace {

/// A core by its kind, package and number: ascending, the fast ones first.
using CoreKey = std::tuple<int, int, int>;

CoreKey core_of(const LogicalCpu& cpu) {
  return {cpu.kind, cpu.package, cpu.core};
}

std::map<CoreKey, std::vector<int>> cpus_by_core(std::span<const LogicalCpu> allowed) {
  std::map<CoreKey, std::vector<int>> cores;
  for (const LogicalCpu& cpu : allowed) cores[core_of(cpu)].push_back(cpu.cpu);
  return cores;
}

/// First one thread of each core, then the second ones, …
std::vector<int> cores_first(const std::map<CoreKey, std::vector<int>>& cores) {
  std::vector<int> order;
  for (std::size_t rank = 0, added = 1; added > 0; ++rank) {
    added = 0;
    for (const auto& [core, cpus] : cores) {
      if (rank >= cpus.size()) continue;
      order.push_back(cpus[rank]);
      ++added;
    }
  }
  return order;
}

std::vector<LogicalCpu> fast_ones(std::span<const LogicalCpu> allowed) {
  const int fastest = std::ranges::min(allowed | std::views::transform(&LogicalCpu::kind));
  std::vector<LogicalCpu> fast;
  std::ranges::copy_if(allowed, std::back_inserter(fast), [&](const LogicalCpu& cpu) { return cpu.kind == fastest; });
  return fast;
}

}  // namespace

std::vector<int> neighbouring_cpus(std::span<const LogicalCpu> allowed, std::size_t count) {
  std::vector<LogicalCpu> sorted(allowed.begin(), allowed.end());
  std::ranges::sort(sorted, {}, [](const LogicalCpu& cpu) { return std::pair(core_of(cpu), cpu.cpu); });
  std::vector<int> chosen;
  for (const LogicalCpu& cpu : sorted | std::views::take(count)) chosen.push_back(cpu.cpu);
  return chosen;
}

std::vector<int> distant_cpus(std::span<const LogicalCpu> allowed, std::size_t count) {
  if (allowed.empty()) return {};
  const std::vector<LogicalCpu> fast = fast_ones(allowed);
  const bool slow_left_out = cpus_by_core(fast).size() >= count;
  if (slow_left_out) allowed = fast;
  const bool alike = fast.size() == allowed.size();
  std::map<int, std::vector<LogicalCpu>> by_package;
  for (const LogicalCpu& cpu : allowed) by_package[cpu.package].push_back(cpu);
  std::vector<std::vector<int>> orders;
  std::vector<std::size_t> cores;
  for (const auto& [package, cpus] : by_package) {
    const auto of_cores = cpus_by_core(cpus);
    orders.push_back(cores_first(of_cores));
    cores.push_back(of_cores.size());
  }

  std::vector<std::size_t> shares(orders.size(), 0);
  for (std::size_t left = std::min(count, allowed.size()), turn = 0; left > 0; ++turn) {
    const std::size_t i = turn % orders.size();
    if (shares[i] == orders[i].size()) continue;
    ++shares[i];
    --left;
  }
  std::vector<int> chosen;
  for (std::size_t turn = 0; turn < std::ranges::max(shares); ++turn) {
    for (std::size_t i = 0; i < orders.size(); ++i) {
      if (turn >= shares[i]) continue;
      const bool gaps = alike && shares[i] < cores[i];  // a gap among fast cores would be filled by slower ones
      chosen.push_back(orders[i][gaps ? turn * cores[i] / shares[i] : turn]);
    }
  }
  return chosen;
}

std::vector<int> filled_domains(std::span<const LogicalCpu> allowed, std::size_t count, int LogicalCpu::* domain) {
  std::map<int, std::vector<LogicalCpu>> domains;
  for (const LogicalCpu& cpu : allowed) domains[cpu.*domain].push_back(cpu);
  // Fast cores count first: a cluster of slow ones may have a cache of its own, or none.
  std::vector<std::tuple<int, std::size_t, std::vector<int>>> orders;
  for (const auto& [number, cpus] : domains) {
    const auto cores = cpus_by_core(cpus);
    orders.emplace_back(std::get<0>(cores.begin()->first), cores.size(), cores_first(cores));
  }
  std::ranges::stable_sort(orders, [](const auto& left, const auto& right) {
    return std::pair(std::get<0>(left), std::get<1>(right)) < std::pair(std::get<0>(right), std::get<1>(left));
  });
  std::vector<int> chosen;
  for (const auto& [kind, cores, order] : orders)
    for (const int cpu : order | std::views::take(count - std::min(count, chosen.size()))) chosen.push_back(cpu);
  return chosen;
}

}  // namespace nocturne::measure
