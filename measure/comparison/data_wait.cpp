#include "measure/comparison/data_wait.hpp"

#include <chrono>
#include <cstddef>
#include <vector>

#include "measure/comparison/statistics.hpp"
#include "measure/comparison/warm_up.hpp"

namespace nocturne::measure {

std::size_t waits_settled(std::size_t warm_up, std::size_t samples) {
  return (warm_up + samples) / 2;
}

std::optional<DataWait> data_wait(const space::Run& run) {
  using Seconds = std::chrono::duration<double>;
  const std::vector<double> steps = step_seconds(run);
  if (steps.empty()) return std::nullopt;
  double waited = 0, wall = 0, count = 0;
  for (std::size_t i = waits_settled(detect_warm_up(steps).samples, steps.size()); i < run.samples.size(); ++i) {
    const space::Sample& sample = run.samples[i];
    waited += Seconds(sample.data_wait).count();
    wall += Seconds(sample.wall).count();
    count += static_cast<double>(sample.steps);
  }
  if (!(wall > 0) || !(count > 0)) return std::nullopt;
  return DataWait{.step_seconds = waited / count, .share = waited / wall};
}

std::optional<DataWait> data_wait(std::span<const space::Run> runs) {
  DataWait sum;
  double count = 0;
  for (const space::Run& run : runs) {
    const std::optional<DataWait> one = data_wait(run);
    if (!one) continue;
    sum.step_seconds += one->step_seconds;
    sum.share += one->share;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return DataWait{.step_seconds = sum.step_seconds / count, .share = sum.share / count};
}

double data_wait_seconds(const DataWait& wait, const space::Parts& parts, double epochs) {
  return epochs * parts.steps_per_epoch * wait.step_seconds;
}

}  // namespace nocturne::measure
