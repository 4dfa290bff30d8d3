#include "kernels/machine/survey.hpp"

#include <algorithm>
#include <atomic>

#include "kernels/machine/arithmetic.hpp"
#include "kernels/machine/bandwidth.hpp"
#include "kernels/machine/team.hpp"

namespace nocturne::machine {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr int kFewestRepeats = 5;  // for quartiles to mean something
constexpr Seconds kRepeat{0.02};   // long against starting threads, short against a neighbour's bursts
constexpr int kMeasurements = 6;
constexpr float kScale = 3;

/// Repeats until the time is over, but at least kFewestRepeats times.
Spread repeat(Seconds budget, const std::function<double()>& once) {
  std::vector<double> rates;
  const auto end = Clock::now() + budget;
  while (static_cast<int>(rates.size()) < kFewestRepeats || Clock::now() < end) rates.push_back(once());
  return spread_of(std::move(rates));
}

double seconds(std::chrono::nanoseconds time) {
  return std::max(1e-9, Seconds(time).count());
}

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
  std::int64_t iterations = 1024;
  for (double took = seconds(once(iterations)); took < kRepeat.count() && iterations < kMostIterations;) {
    iterations = std::min(kMostIterations, iterations * 2);
    took = seconds(once(iterations));
  }
  result.rate = repeat(budget, [&] {
    const double flops = kernel.flops * static_cast<double>(iterations) * static_cast<double>(cpus.size());
    return flops / seconds(once(iterations)) / 1e9;
  });
  for (const double sum : sums) result.sum += sum;
  return result;
}

Measurement measure_triad(const std::vector<int>& cpus, Seconds budget) {
  Measurement result{.name = "triad",
                     .unit = "GB/s",
                     .threads = static_cast<int>(cpus.size()),
                     .kernel = "triad",
                     .rate = {},
                     .absent = {}};
  const std::size_t elements = triad_elements(cpus.size());
  std::vector<TriadArrays> arrays;
  double bytes = 0;
  for (std::size_t i = 0; i < cpus.size(); ++i) bytes += arrays.emplace_back(elements).bytes_moved();
  bool filled = false;
  const auto fill_once = [&](std::size_t i) {
    if (!filled) arrays[i].fill();
  };
  result.rate = repeat(budget, [&] {
    const auto took = time_together(cpus, fill_once, [&](std::size_t i) { arrays[i].run(kScale); });
    filled = true;
    return bytes / seconds(took) / 1e9;
  });
  for (const TriadArrays& array : arrays) {
    result.right = result.right && array.is_right(kScale);
    result.sum += array.sum();
  }
  return result;
}

}  // namespace

std::vector<Measurement> survey(Seconds budget, const std::function<void(const std::string&)>& notice) {
  const std::vector<int> all = allowed_cpus();
  std::vector<std::vector<int>> teams = {{all.front()}};
  if (all.size() > 1) teams.push_back(all);
  const Seconds share = budget / kMeasurements;
  std::vector<Measurement> results;
  for (const auto& cpus : teams) {
    const std::string with = " with " + std::to_string(cpus.size()) + (cpus.size() == 1 ? " thread" : " threads");
    notice("f32 arithmetic" + with);
    results.push_back(measure_arithmetic("fma_f32", f32_kernels(), cpus, share));
    notice("bf16 arithmetic" + with);
    results.push_back(measure_arithmetic("fma_bf16", bf16_kernels(), cpus, share));
    notice("memory bandwidth" + with);
    results.push_back(measure_triad(cpus, share));
  }
  return results;
}

}  // namespace nocturne::machine
