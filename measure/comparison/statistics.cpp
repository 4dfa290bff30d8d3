#include "measure/comparison/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <span>
#include <string_view>
#include <variant>

#include "measure/comparison/data_wait.hpp"
#include "measure/comparison/disturbance.hpp"

namespace nocturne::measure {
namespace {

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

double seconds_per_step(std::chrono::nanoseconds time, const space::Sample& sample) {
  return seconds(time) / static_cast<double>(std::max<std::int64_t>(1, sample.steps));
}

/// Seconds of each phase of this name that has finished.
std::vector<double> each_phase(const space::Run& run, std::string_view name) {
  std::vector<double> result;
  for (const space::Phase& phase : run.phases)
    if (phase.name == name && phase.finished) result.push_back(seconds(phase.wall));
  return result;
}

/// What starts take as a rule: the first one may meet what none has read before.
double epoch_start(const space::Run& run) {
  const std::vector<double> starts = each_phase(run, kEpochStart);
  if (starts.size() < 2) return starts.empty() ? 0 : starts.front();
  return median(std::span(starts).subspan(1));
}

/// Total wall seconds of the finished phases of this name.
double phase_seconds(const space::Run& run, std::string_view name) {
  const std::vector<double> each = each_phase(run, name);
  return std::accumulate(each.begin(), each.end(), 0.0);
}

/// Spikes of what a step does are others' work on the machine; its waits are its own, and come in bursts.
Location steady_step(std::span<const space::Sample> samples) {
  std::vector<double> work, waits;
  for (const space::Sample& sample : samples) {
    waits.push_back(seconds_per_step(sample.data_wait, sample));
    work.push_back(seconds_per_step(sample.wall, sample) - waits.back());
  }
  Location location = steady_location(work);
  const Location waiting = bursty_location(std::span(waits).subspan(waits_settled(0, waits.size())));
  location.value += waiting.value;
  location.standard_error = std::hypot(location.standard_error, waiting.standard_error);
  return location;
}

double excess_before_steady(const space::Run& run, std::size_t warm_up_samples, double steady_step) {
  double excess = 0;
  const double first_step = phase_seconds(run, "first_step");
  if (first_step > 0) excess += first_step - steady_step;
  for (std::size_t i = 0; i < warm_up_samples; ++i) {
    const space::Sample& sample = run.samples[i];
    excess += seconds(sample.wall) - static_cast<double>(sample.steps) * steady_step;
  }
  return excess;
}

/// REQUIRES: the run has epochs.
double epoch_overhead(const space::Run& run, const space::Parts& parts) {
  const double steps_time = parts.steps_per_epoch * parts.steady_step;
  if (run.epochs.size() == 1)
    return std::max(0.0, seconds(run.epochs.front().wall) - steps_time - parts.first_step_excess);
  std::vector<double> overheads;
  for (std::size_t i = 1; i < run.epochs.size(); ++i) overheads.push_back(seconds(run.epochs[i].wall) - steps_time);
  return std::max(0.0, median(overheads));
}

}  // namespace

std::expected<Schedule, std::string> schedule_of(const space::Workload& workload,
                                                 const space::Configuration& configuration, std::int64_t default_batch,
                                                 protocol::PartialBatch partial_batch) {
  Schedule schedule{
      .training_examples = workload.training_examples, .batch = default_batch, .partial_batch = partial_batch};
  if (const space::Value* value = configuration.find("batch")) {
    const auto* batch = std::get_if<std::int64_t>(value);
    if (batch == nullptr || *batch < 1)
      return std::unexpected(fmt::format("batch is {}, it must be an integer of at least 1", space::to_text(*value)));
    schedule.batch = *batch;
  }
  if (steps_per_epoch(schedule) <= 0) {
    return std::unexpected(fmt::format("batch {} leaves no full step in an epoch of {} examples", schedule.batch,
                                       schedule.training_examples));
  }
  return schedule;
}

double steps_per_epoch(const Schedule& schedule) {
  const double steps = static_cast<double>(schedule.training_examples) / static_cast<double>(schedule.batch);
  return schedule.partial_batch == protocol::PartialBatch::Drop ? std::floor(steps) : steps;
}

double total_time_error(const RunSummary& summary, double epochs) {
  const double held = summary.parts.first_step_excess > 0 ? 1 : 0;
  return std::abs(epochs * summary.parts.steps_per_epoch - held) * summary.steady_step_error;
}

std::vector<double> step_seconds(const space::Run& run) {
  std::vector<double> steps;
  steps.reserve(run.samples.size());
  for (const space::Sample& sample : run.samples) steps.push_back(seconds_per_step(sample.wall, sample));
  return steps;
}

std::optional<EpochEnd> epoch_end(const space::Run& run) {
  const std::vector<double> ends = each_phase(run, kEpochEnd);
  if (ends.size() < 2) return std::nullopt;
  const double each = median(std::span(ends).subspan(1));
  return EpochEnd{.each = each, .first = std::max(0.0, ends.front() - each)};
}

std::expected<RunSummary, std::string> summarise(const space::Run& run, const Schedule& schedule) {
  const std::vector<double> steps = step_seconds(run);
  if (steps.empty()) return std::unexpected("the run has no samples: nothing is known of its steady step");

  RunSummary summary;
  summary.parts.steps_per_epoch = steps_per_epoch(schedule);
  if (summary.parts.steps_per_epoch <= 0) {
    return std::unexpected(fmt::format("batch {} leaves no full step in an epoch of {} examples", schedule.batch,
                                       schedule.training_examples));
  }
  summary.warm_up = detect_warm_up(steps);
  const Location steady = steady_step(std::span(run.samples).subspan(summary.warm_up.samples));
  summary.samples = steady.samples;
  summary.steady_step_error = steady.standard_error;

  space::Parts& parts = summary.parts;
  parts.steady_step = steady.value;
  parts.import = phase_seconds(run, "import");
  parts.data = phase_seconds(run, "data");
  parts.compile = phase_seconds(run, "build") + phase_seconds(run, "compile");
  const double start = epoch_start(run);
  const double excess = excess_before_steady(run, summary.warm_up.samples, steady.value);
  parts.first_step_excess = std::max(0.0, excess - start);
  parts.epoch_overhead = run.epochs.empty() ? start : epoch_overhead(run, parts);
  if (run.epochs.empty()) summary.epoch_end = measure::epoch_end(run);
  if (summary.epoch_end) {
    parts.first_step_excess += summary.epoch_end->first;
    parts.epoch_overhead += summary.epoch_end->each;
  }
  return summary;
}

std::expected<TrialSummary, std::string> summarise(std::span<const space::Run> runs, const Schedule& schedule,
                                                   const space::Objective& objective) {
  TrialSummary trial;
  std::string problem = "no run of the trial ended well";
  const auto is_free = [](const space::Run& run) {
    return run.outcome == space::Outcome::Ok && !run.samples.empty() && !was_slowed(run);
  };
  trial.disturbed = std::ranges::none_of(runs, is_free);
  for (const space::Run& run : runs) {
    if (run.outcome != space::Outcome::Ok || (!trial.disturbed && !is_free(run))) continue;
    if (auto summary = summarise(run, schedule))
      trial.runs.push_back(*summary);
    else
      problem = std::move(summary.error());
  }
  if (trial.runs.empty()) return std::unexpected(std::move(problem));
  trial.parts = mean_parts(trial.runs);
  trial.estimate = estimate_at(trial.runs, objective.primary);
  return trial;
}

space::Parts mean_parts(std::span<const RunSummary> runs) {
  space::Parts mean;
  const double count = static_cast<double>(runs.size());
  for (const RunSummary& run : runs) {
    mean.import += run.parts.import / count;
    mean.data += run.parts.data / count;
    mean.compile += run.parts.compile / count;
    mean.first_step_excess += run.parts.first_step_excess / count;
    mean.epoch_overhead += run.parts.epoch_overhead / count;
    mean.steady_step += run.parts.steady_step / count;
  }
  mean.steps_per_epoch = runs.front().parts.steps_per_epoch;  // all runs of a trial have the same
  return mean;
}

space::Estimate estimate_at(std::span<const RunSummary> runs, double epochs) {
  assert(!runs.empty());
  const double count = static_cast<double>(runs.size());
  double within = 0;
  for (const RunSummary& run : runs) {
    const double error = total_time_error(run, epochs);
    within += error * error / (count * count);
  }
  space::Estimate estimate{.value = space::total_time(mean_parts(runs), epochs),
                           .standard_error = std::sqrt(within),
                           .runs = static_cast<int>(runs.size())};
  if (runs.size() > 1) {
    double squares = 0;
    for (const RunSummary& run : runs) {
      const double deviation = space::total_time(run.parts, epochs) - estimate.value;
      squares += deviation * deviation;
    }
    estimate.standard_error = std::max(estimate.standard_error, std::sqrt(squares / (count - 1) / count));
  }
  return estimate;
}

}  // namespace nocturne::measure
