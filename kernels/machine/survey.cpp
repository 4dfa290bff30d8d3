#include "kernels/machine/survey.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "kernels/machine/arithmetic.hpp"
#include "kernels/machine/disk.hpp"
#include "kernels/machine/measurement.hpp"
#include "kernels/machine/memory_survey.hpp"
#include "kernels/machine/plausibility.hpp"
#include "kernels/machine/team.hpp"
#include "kernels/machine/tiles.hpp"
#include "kernels/machine/topology.hpp"

namespace nocturne::machine {
namespace {

constexpr std::int64_t kFewestIterations = 1024;  // of an arithmetic loop
constexpr std::size_t kVector = 64;               // bytes: arrays of whole vectors

/// One measurement to be made, the name of its figure, and what to say before.
struct Job {
  std::string name;
  std::string what;
  std::function<std::vector<Measurement>(Seconds)> run;
};

/// `without`: why there is no kernel, where there is none.
Measurement measure_arithmetic(std::string name, const std::vector<ArithmeticKernel>& kernels,
                               const std::string& without, const std::vector<int>& cpus, Seconds budget) {
  Measurement result{.name = std::move(name),
                     .unit = "GFLOP/s",
                     .threads = static_cast<int>(cpus.size()),
                     .kernel = {},
                     .rate = {},
                     .absent = {}};
  if (kernels.empty()) {
    result.absent = without;
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
  jobs.push_back({"fma_f32", "f32 arithmetic" + with, [cpus](Seconds budget) {
                    return std::vector{measure_arithmetic("fma_f32", f32_kernels(), "", cpus, budget)};
                  }});
  jobs.push_back({"fma_bf16", "bf16 arithmetic" + with, [cpus](Seconds budget) {
                    const std::string without = "this processor has no AVX512_BF16";
                    return std::vector{measure_arithmetic("fma_bf16", bf16_kernels(), without, cpus, budget)};
                  }});
  jobs.push_back({"amx_bf16", "bf16 arithmetic in tiles" + with, [cpus](Seconds budget) {
                    const std::string without = tile_obstacle(tile_facts());
                    return std::vector{measure_arithmetic("amx_bf16", tile_kernels(), without, cpus, budget)};
                  }});
}

void add_caches(std::vector<Job>& jobs, const std::vector<int>& cpus, const std::vector<int>& all,
                const std::string& with) {
  const auto caches = data_caches(cpus.front(), all);
  for (std::size_t i = 0; i < caches.size(); ++i) {
    const std::string level = std::to_string(caches[i].level);
    const std::size_t bytes = working_set(caches, i, cpus.size() > 1);
    jobs.push_back({"triad_l" + level, "L" + level + " bandwidth" + with, [=](Seconds budget) {
                      const std::string name = "triad_l" + level;
                      if (bytes == 0) return std::vector{not_told_apart(name, "GB/s", cpus.size())};
                      return std::vector{measure_bandwidth(name, cpus, elements_in(bytes), budget)};
                    }});
    jobs.push_back({"latency_l" + level, "L" + level + " latency" + with, [=](Seconds budget) {
                      const std::string name = "latency_l" + level;
                      if (bytes == 0) return std::vector{not_told_apart(name, "ns", cpus.size())};
                      return std::vector{measure_latency(name, cpus, bytes, budget)};
                    }});
  }
}

void add_memory(std::vector<Job>& jobs, const std::vector<int>& cpus, const std::string& with) {
  jobs.push_back({"triad", "memory bandwidth" + with, [cpus](Seconds budget) {
                    return std::vector{measure_bandwidth("triad", cpus, triad_elements(cpus), budget)};
                  }});
  jobs.push_back({"latency", "memory latency" + with, [cpus](Seconds budget) {
                    return std::vector{measure_latency("latency", cpus, memory_working_set(cpus), budget)};
                  }});
}

void add_nodes(std::vector<Job>& jobs, const std::vector<int>& all) {
  const auto nodes = memory_nodes(all);
  if (nodes.size() < 2) return;
  for (const MemoryNode& node : nodes) {
    jobs.push_back({"triad_node", "memory bandwidth of node " + std::to_string(node.id), [node](Seconds budget) {
                      auto result = measure_bandwidth("triad_node", node.cpus, triad_elements(node.cpus), budget);
                      result.node = result.memory_node = node.id;
                      return std::vector{result};
                    }});
    for (const MemoryNode& other : nodes) {
      const std::string what = std::to_string(node.id) + " from memory of node " + std::to_string(other.id);
      jobs.push_back({"latency_node", "latency of node " + what, [node, other](Seconds budget) {
                        auto result = measure_distance("latency_node", node.cpus.front(), other.cpus.front(),
                                                       memory_working_set({node.cpus.front()}), budget);
                        result.node = node.id;
                        result.memory_node = other.id;
                        return std::vector{result};
                      }});
    }
  }
}

/// Cores or caches that all CPUs have between them for what this figure measures.
int units_of_figure(const Measurement& figure, const std::vector<int>& all) {
  if (figure.name.starts_with("fma_") || figure.name.starts_with("amx_")) return core_count(all);
  for (const CacheLevel& cache : data_caches(all.front(), all)) {
    if (figure.name != "triad_l" + std::to_string(cache.level)) continue;
    return (static_cast<int>(all.size()) + cache.sharers - 1) / cache.sharers;
  }
  return 1;
}

std::vector<Job> planned_jobs(const SurveyPlan& plan, const std::vector<int>& all) {
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
    jobs.push_back({"disk", "the disk below " + plan.disk.string(),
                    [disk = plan.disk](Seconds budget) { return measure_disk(disk, 6 * budget); }});
  }
  if (!plan.only.empty())
    std::erase_if(jobs, [&](const Job& job) { return std::ranges::find(plan.only, job.name) == plan.only.end(); });
  return jobs;
}

}  // namespace

std::vector<Measurement> survey(const SurveyPlan& plan, const std::function<void(const std::string&)>& notice) {
  const std::vector<int> all = allowed_cpus();
  const std::vector<Job> jobs = planned_jobs(plan, all);
  const bool with_disk = !jobs.empty() && jobs.back().name == "disk";
  const Seconds share = plan.budget / static_cast<double>(jobs.size() + (with_disk ? 5 : 0));
  std::vector<Measurement> results;
  std::vector<const Job*> job_of;  // of each result
  for (const Job& job : jobs) {
    notice(job.what);
    for (Measurement& each : job.run(share)) {
      results.push_back(std::move(each));
      job_of.push_back(&job);
    }
  }
  // Later than all the others: what was in the way a moment ago may be gone by then.
  measure_doubted_again(
      results, [&](const Measurement& figure) { return units_of_figure(figure, all); },
      [&](std::size_t index) {
        notice(job_of[index]->what + ", again");
        return job_of[index]->run(share).front();  // only the disk's job has more than one, and is never doubted
      });
  return results;
}

}  // namespace nocturne::machine
