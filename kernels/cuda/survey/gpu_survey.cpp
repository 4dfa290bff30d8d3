#include "kernels/cuda/survey/gpu_survey.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "kernels/machine/report.hpp"

namespace nocturne::cuda {
namespace {

using machine::Measurement;

constexpr double kGiga = 1e9;

Measurement measure_loop(const GpuLoop& loop, machine::Seconds budget) {
  Measurement result{.name = loop.name,
                     .unit = loop.unit,
                     .threads = 1,
                     .kernel = loop.kernel,
                     .rate = {},
                     .absent = loop.absent,
                     .working_set_bytes = loop.working_set_bytes};
  if (!loop.absent.empty()) return result;
  const auto once = [&](std::int64_t iterations) {
    const std::chrono::nanoseconds took = loop.run(iterations);
    result.right = loop.is_right() && result.right;
    return took;
  };
  try {
    const std::int64_t iterations = machine::enough_iterations(loop.fewest, loop.most, once);
    result.rate = machine::repeat(budget, [&] {
      return loop.work * static_cast<double>(iterations) / machine::seconds_of(once(iterations)) / kGiga;
    });
  } catch (const std::exception& error) {
    result.absent = error.what();
  }
  return result;
}

// Measured before not measured, right before wrong, then by the most that was seen.
bool counts_more(const Measurement& one, const Measurement& other) {
  if (one.absent.empty() != other.absent.empty()) return one.absent.empty();
  if (one.right != other.right) return one.right;
  return one.rate.maximum > other.rate.maximum;
}

}  // namespace

std::vector<Measurement> survey_gpu(const std::vector<GpuLoop>& loops, machine::Seconds budget) {
  const auto possible = std::count_if(loops.begin(), loops.end(), [](const GpuLoop& l) { return l.absent.empty(); });
  const machine::Seconds share = budget / static_cast<double>(std::max<std::ptrdiff_t>(1, possible));
  std::vector<Measurement> results;
  for (const GpuLoop& loop : loops) {
    Measurement result = measure_loop(loop, share);
    const auto same =
        std::find_if(results.begin(), results.end(), [&](const Measurement& each) { return each.name == result.name; });
    if (same == results.end())
      results.push_back(std::move(result));
    else if (counts_more(result, *same))
      *same = std::move(result);
  }
  return results;
}

nlohmann::json describe_gpu(const DeviceFacts& facts, const std::vector<Measurement>& measurements) {
  return {{"name", facts.name},
          {"compute_capability", std::to_string(facts.major) + "." + std::to_string(facts.minor)},
          {"memory_bytes", facts.memory_bytes},
          {"measurements", machine::to_json(measurements)["measurements"]}};
}

}  // namespace nocturne::cuda
