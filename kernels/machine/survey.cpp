#include "kernels/machine/survey.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "kernels/machine/arithmetic.hpp"
#include "kernels/machine/bandwidth.hpp"
#include "kernels/machine/disk.hpp"
#include "kernels/machine/memory_survey.hpp"
#include "kernels/machine/repeats.hpp"
#include "kernels/machine/team.hpp"
#include "kernels/machine/topology.hpp"

namespace nocturne::machine {
namespace {

constexpr std::int64_t kFewestIterations = 1024;  // of an arithmetic loop
constexpr std::size_t kVector = 64;               // bytes: arrays of whole vectors

/// One measurement to be made, and what to say before.
struct Job {
  std::string what;
  std::function<std::vector<Measurement>(Seconds)> run;
};

Measurement measure_arithmetic(std::string name, const std::vector<ArithmeticKernel>& kernels,
                               const std::vector<int>& cpus, Seconds budget) {
  Measurement result{.name = std::move(name),
                     .unit = "GFLOP/s",
                     .threads = static_cast<int>(cpus.size()),
                     .kernel = {},
                     .rate = {},
                     .absent = {}};
  if (kernels.empty()) {
    result.absent = "this processor has no AVX512_BF16";
    return result;
  }
  const ArithmeticKernel& kernel = kernels.front();
  result.kernel = kernel.name;
  // The compiler must not know that this is one, or it would compute the result itself.
  volatile float one = 1;
  std::vector<double> sums(cpus.size());
  const auto once = [&](std::int64_t iterations) {
    const auto took =
        time_together(cpus, [](std::size_t) {}, [&](std::size_t i) { sums[i] = kernel.run(iterations, one); });
    for (const double sum : sums) result.right = result.right && sum == kernel.expected(iterations);
    return took;
  };
  const std::int64_t iterations = enough_iterations(kFewestIterations, kMostIterations, once);
  result.rate = repeat(budget, [&] {
    const double flops = kernel.flops * static_cast<double>(iterations) * static_cast<double>(cpus.size());
    return flops / seconds_of(once(iterations)) / 1e9;
  });
  for (const double sum : sums) result.sum += sum;
  return result;
}

/// Whole vectors of the three arrays that together are `bytes`.
std::size_t elements_in(std::size_t bytes) {
  const std::size_t vectors = bytes / 3 / kVector;
  return std::max<std::size_t>(1, vectors) * kVector / sizeof(float);
}

Measurement not_told_apart(std::string name, std::string unit, std::size_t threads) {
  return {.name = std::move(name),
          .unit = std::move(unit),
          .threads = static_cast<int>(threads),
          .kernel = {},
          .rate = {},
          .absent = "a thread's share of it is no larger than the cache before it"};
}

void add_arithmetic(std::vector<Job>& jobs, const std::vector<int>& cpus, const std::string& with) {
  jobs.push_back({"f32 arithmetic" + with, [cpus](Seconds budget) {
                    return std::vector{measure_arithmetic("fma_f32", f32_kernels(), cpus, budget)};
                  }});
  jobs.push_back({"bf16 arithmetic" + with, [cpus](Seconds budget) {
                    return std::vector{measure_arithmetic("fma_bf16", bf16_kernels(), cpus, budget)};
                  }});
}

void add_caches(std::vector<Job>& jobs, const std::vector<int>& cpus, const std::vector<int>& all,
                const std::string& with) {
  const auto caches = data_caches(cpus.front(), all);
  for (std::size_t i = 0; i < caches.size(); ++i) {
    const std::string level = std::to_string(caches[i].level);
    const std::size_t bytes = working_set(caches, i, cpus.size() > 1);
    jobs.push_back({"L" + level + " bandwidth" + with, [=](Seconds budget) {
                      const std::string name = "triad_l" + level;
                      if (bytes == 0) return std::vector{not_told_apart(name, "GB/s", cpus.size())};
                      return std::vector{measure_bandwidth(name, cpus, elements_in(bytes), budget)};
                    }});
    jobs.push_back({"L" + level + " latency" + with, [=](Seconds budget) {
                      const std::string name = "latency_l" + level;
                      if (bytes == 0) return std::vector{not_told_apart(name, "ns", cpus.size())};
                      return std::vector{measure_latency(name, cpus, bytes, budget)};
                    }});
  }
}

void add_memory(std::vector<Job>& jobs, const std::vector<int>& cpus, const std::string& with) {
  jobs.push_back({"memory bandwidth" + with, [cpus](Seconds budget) {
                    return std::vector{measure_bandwidth("triad", cpus, triad_elements(cpus), budget)};
                  }});
  jobs.push_back({"memory latency" + with, [cpus](Seconds budget) {
                    return std::vector{measure_latency("latency", cpus, memory_working_set(cpus), budget)};
                  }});
}

void add_nodes(std::vector<Job>& jobs, const std::vector<int>& all) {
  const auto nodes = memory_nodes(all);
  if (nodes.size() < 2) return;
  for (const MemoryNode& node : nodes) {
    jobs.push_back({"memory bandwidth of node " + std::to_string(node.id), [node](Seconds budget) {
                      auto result = measure_bandwidth("triad_node", node.cpus, triad_elements(node.cpus), budget);
                      result.node = result.memory_node = node.id;
                      return std::vector{result};
                    }});
    for (const MemoryNode& other : nodes) {
      const std::string what = std::to_string(node.id) + " from memory of node " + std::to_string(other.id);
      jobs.push_back({"latency of node " + what, [node, other](Seconds budget) {
                        auto result = measure_distance("latency_node", node.cpus.front(), other.cpus.front(),
                                                       memory_working_set({node.cpus.front()}), budget);
                        result.node = node.id;
                        result.memory_node = other.id;
                        return std::vector{result};
                      }});
    }
  }
}

}  // namespace

std::vector<Measurement> survey(const SurveyPlan& plan, const std::function<void(const std::string&)>& notice) {
  const std::vector<int> all = allowed_cpus();
  std::vector<std::vector<int>> teams = {{all.front()}};
  if (all.size() > 1) teams.push_back(all);
  std::vector<Job> jobs;
  for (const auto& cpus : teams) {
    const std::string with = " with " + std::to_string(cpus.size()) + (cpus.size() == 1 ? " thread" : " threads");
    add_arithmetic(jobs, cpus, with);
    add_caches(jobs, cpus, all, with);
    add_memory(jobs, cpus, with);
  }
  add_nodes(jobs, all);
  if (!plan.disk.empty()) {
    jobs.push_back({"the disk below " + plan.disk.string(),
                    [disk = plan.disk](Seconds budget) { return measure_disk(disk, 6 * budget); }});
  }
  const Seconds share = plan.budget / static_cast<double>(jobs.size() + (plan.disk.empty() ? 0 : 5));
  std::vector<Measurement> results;
  for (const Job& job : jobs) {
    notice(job.what);
    for (Measurement& each : job.run(share)) results.push_back(std::move(each));
  }
  return results;
}

}  // namespace nocturne::machine
