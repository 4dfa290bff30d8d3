#include "measure/comparison/statistics.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cmath>

namespace nocturne::measure {
namespace {

using Catch::Approx;
using namespace std::chrono_literals;

space::Phase phase(const char* name, std::chrono::nanoseconds wall) {
  return {.name = name, .wall = wall, .cpu = wall, .finished = true};
}

/// `steps` samples of one step each, `each` long, behind `first`.
space::Run steady_run(std::chrono::nanoseconds first, std::chrono::nanoseconds each, int steps) {
  space::Run run;
  run.outcome = space::Outcome::Ok;
  run.phases = {phase("first_step", first)};
  for (int i = 0; i < steps; ++i) run.samples.push_back({.first_step = i + 1, .steps = 1, .wall = each});
  return run;
}

const Schedule kMnist{.training_examples = 60000, .batch = 128};

}  // namespace

TEST_CASE("steps of an epoch are whole where the partial batch is dropped", "[statistics]") {
  CHECK(steps_per_epoch(kMnist) == 468);
  CHECK(steps_per_epoch({.training_examples = 60000, .batch = 128, .partial_batch = protocol::PartialBatch::Train}) ==
        468.75);
}

TEST_CASE("the schedule takes the batch from the configuration and refuses nonsense", "[statistics]") {
  space::Configuration configuration;
  CHECK(schedule_of({}, configuration)->batch == 128);
  configuration.set("batch", std::int64_t{32});
  CHECK(schedule_of({}, configuration)->batch == 32);
  configuration.set("batch", std::int64_t{0});
  CHECK_FALSE(schedule_of({}, configuration));
  configuration.set("batch", std::string("many"));
  CHECK(schedule_of({}, configuration).error() == "batch is many, it must be an integer of at least 1");
  configuration.set("batch", std::int64_t{70000});
  CHECK_FALSE(schedule_of({}, configuration));
}

TEST_CASE("the parts of a run come from its phases and samples", "[statistics]") {
  space::Run run = steady_run(350ms, 50ms, 10);
  run.phases.insert(run.phases.begin(),
                    {phase("import", 2s), phase("data", 300ms), phase("build", 1s), phase("compile", 4s)});
  run.phases.push_back({.name = "data", .wall = 7s, .cpu = 0s, .finished = false});  // where a run hung: no duration
  const auto summary = summarise(run, kMnist);
  REQUIRE(summary);
  CHECK(summary->parts.import == Approx(2));
  CHECK(summary->parts.data == Approx(0.3));
  CHECK(summary->parts.compile == Approx(5));
  CHECK(summary->parts.first_step_excess == Approx(0.3));
  CHECK(summary->parts.steady_step == Approx(0.05));
  CHECK(summary->parts.epoch_overhead == 0);
  CHECK(summary->steady_step_error < 1e-12);
  CHECK(summary->samples == 10);
  // 2 + 0.3 + 5 + 0.3 + 12 · 468 · 0.05
  CHECK(space::total_time(summary->parts, 12) == Approx(288.4));
}

TEST_CASE("a sample of several steps counts as their mean", "[statistics]") {
  space::Run run = steady_run(50ms, 50ms, 0);
  for (int i = 0; i < 8; ++i) run.samples.push_back({.first_step = 1 + 5 * i, .steps = 5, .wall = 200ms});
  const auto summary = summarise(run, kMnist);
  REQUIRE(summary);
  CHECK(summary->parts.steady_step == Approx(0.04));
  CHECK(summary->parts.first_step_excess == Approx(0.01));
}

TEST_CASE("what warm-up steps took beyond steady ones is paid once, with the first step", "[statistics]") {
  space::Run run = steady_run(350ms, 50ms, 12);
  run.samples[0].wall = 450ms;
  run.samples[1].wall = 150ms;
  const auto summary = summarise(run, kMnist);
  REQUIRE(summary);
  CHECK(summary->warm_up.samples == 2);
  CHECK(summary->parts.steady_step == Approx(0.05));
  CHECK(summary->parts.first_step_excess == Approx(0.3 + 0.4 + 0.1));
}

TEST_CASE("a first step that is faster than a steady one has no excess", "[statistics]") {
  CHECK(summarise(steady_run(20ms, 50ms, 10), kMnist)->parts.first_step_excess == 0);
}

TEST_CASE("the epoch's overhead is what its steps do not explain", "[statistics]") {
  space::Run run = steady_run(150ms, 50ms, 10);
  run.epochs = {{.index = 0, .wall = 24s}};  // 468 · 0.05 = 23.4, the first step's excess 0.1
  CHECK(summarise(run, kMnist)->parts.epoch_overhead == Approx(0.5));
  run.epochs.push_back({.index = 1, .wall = 23700ms});
  run.epochs.push_back({.index = 2, .wall = 23600ms});
  CHECK(summarise(run, kMnist)->parts.epoch_overhead == Approx(0.25));
  run.epochs = {{.index = 0, .wall = 1s}};
  CHECK(summarise(run, kMnist)->parts.epoch_overhead == 0);
}

TEST_CASE("what a loader's processes take in each epoch is its overhead, and the first is no excess", "[statistics]") {
  space::Run run = steady_run(450ms, 50ms, 10);
  const std::string name(kEpochStart);
  run.phases.push_back(phase(name.c_str(), 300ms));
  CHECK(summarise(run, kMnist)->parts.epoch_overhead == Approx(0.3));  // the only one
  CHECK(summarise(run, kMnist)->parts.first_step_excess == Approx(0.1));
  for (const auto wall : {100ms, 90ms, 700ms}) run.phases.push_back(phase(name.c_str(), wall));
  CHECK(summarise(run, kMnist)->parts.epoch_overhead == Approx(0.1));  // of the later ones, as a rule
  CHECK(summarise(run, kMnist)->parts.first_step_excess == Approx(0.3));
}

TEST_CASE("what stands between two epochs is their overhead, and what the first end took beyond that is excess",
          "[statistics]") {
  space::Run run = steady_run(150ms, 50ms, 10);
  const std::string name(kEpochEnd);
  run.phases.push_back(phase(name.c_str(), 5s));
  CHECK_FALSE(summarise(run, kMnist)->epoch_end);  // of a single one nobody knows what returns
  CHECK(summarise(run, kMnist)->parts.epoch_overhead == 0);
  for (const auto wall : {2000ms, 1900ms, 9000ms}) run.phases.push_back(phase(name.c_str(), wall));
  run.phases.push_back(phase(std::string(kEpochStart).c_str(), 20ms));
  const auto summary = summarise(run, kMnist);
  REQUIRE(summary->epoch_end);
  CHECK(summary->epoch_end->each == Approx(2));
  CHECK(summary->parts.epoch_overhead == Approx(2.02));
  CHECK(summary->parts.first_step_excess == Approx(0.1 - 0.02 + 3));
  CHECK(space::total_time(summary->parts, 2) == Approx(3.08 + 2 * (2.02 + 468 * 0.05)));
}

TEST_CASE("waits of a few steps are part of a steady step, as all of them have that", "[statistics]") {
  space::Run run = steady_run(50ms, 50ms, 160);
  for (std::size_t i = 7; i < run.samples.size(); i += 8) {
    run.samples[i].data_wait = 80ms;
    run.samples[i].wall += 80ms;
  }
  CHECK(summarise(run, kMnist)->parts.steady_step == Approx(0.06));
  for (std::size_t i = 0; i < 70; ++i)
    run.samples[i] = {.first_step = run.samples[i].first_step, .steps = 1, .wall = 50ms};
  CHECK(summarise(run, kMnist)->parts.steady_step == Approx(0.06));  // until then the queue was full
  for (space::Sample& each : run.samples) each.data_wait = 0ms;      // not known to be waits
  CHECK(summarise(run, kMnist)->parts.steady_step == Approx(0.05));
}

TEST_CASE("a run without samples has no summary, in a sentence", "[statistics]") {
  CHECK(summarise(steady_run(1s, 1s, 0), kMnist).error() ==
        "the run has no samples: nothing is known of its steady step");
}

TEST_CASE("the error of T(N) grows with the horizon and knows of the step inside the excess", "[statistics]") {
  RunSummary summary;
  summary.parts.steps_per_epoch = 10;
  summary.steady_step_error = 0.5;
  summary.parts.first_step_excess = 3;
  CHECK(total_time_error(summary, 2) == Approx(19 * 0.5));
  summary.parts.first_step_excess = 0;
  CHECK(total_time_error(summary, 2) == Approx(20 * 0.5));
}

TEST_CASE("several runs: the mean, and the scatter between processes", "[statistics]") {
  const std::vector<space::Run> runs = {steady_run(50ms, 50ms, 10), steady_run(54ms, 54ms, 10),
                                        steady_run(52ms, 52ms, 10)};
  const space::Objective objective{.epochs = {1}, .primary = 1};
  const auto trial = summarise(runs, kMnist, objective);
  REQUIRE(trial);
  CHECK(trial->estimate.runs == 3);
  CHECK(trial->estimate.value == Approx(468 * 0.052));
  CHECK(trial->estimate.value == Approx(space::total_time(trial->parts, 1)));
  CHECK(trial->estimate.standard_error == Approx(468 * 0.002 / std::sqrt(3.0)));
  CHECK(estimate_at(trial->runs, 10).value == Approx(4680 * 0.052));
}

TEST_CASE("two runs that agree by chance keep the error they have within", "[statistics]") {
  space::Run run = steady_run(50ms, 50ms, 20);
  for (std::size_t i = 0; i < run.samples.size(); ++i) run.samples[i].wall += (i * 7 % 5) * 1ms;
  const space::Objective objective{.epochs = {1}, .primary = 1};
  const auto single = summarise(std::vector{run}, kMnist, objective);
  const auto twice = summarise(std::vector{run, run}, kMnist, objective);
  REQUIRE(single);
  REQUIRE(twice);
  CHECK(single->estimate.standard_error > 0);
  CHECK(twice->estimate.standard_error == Approx(single->estimate.standard_error / std::sqrt(2.0)));
}

TEST_CASE("a run under load enters the estimate only where there is no better one", "[statistics]") {
  space::Run loaded = steady_run(80ms, 80ms, 10);
  loaded.load.other_cpu = 0.4;
  const space::Run quiet = steady_run(50ms, 50ms, 10);
  const auto both = summarise(std::vector{loaded, quiet}, kMnist, {});
  REQUIRE(both);
  CHECK_FALSE(both->disturbed);
  CHECK(both->parts.steady_step == Approx(0.05));
  CHECK(summarise(std::vector{loaded}, kMnist, {})->disturbed);
}

TEST_CASE("a run whose device was held back enters the estimate only where there is no better one", "[statistics]") {
  space::Run hot = steady_run(80ms, 80ms, 10);
  hot.device = space::DeviceReport{.name = "G", .readings = 10, .throttled = {{"thermal", 0.5}}};
  const space::Run cool = steady_run(50ms, 50ms, 10);
  const auto alone = summarise(std::vector{hot}, kMnist, {});
  REQUIRE(alone);
  CHECK(alone->disturbed);
  CHECK(alone->parts.steady_step == Approx(0.08));
  const auto both = summarise(std::vector{hot, cool}, kMnist, {});
  REQUIRE(both);
  CHECK_FALSE(both->disturbed);
  CHECK(both->estimate.runs == 1);
  CHECK(both->parts.steady_step == Approx(0.05));
  space::Run crashed = cool;
  crashed.outcome = space::Outcome::Crashed;
  CHECK(summarise(std::vector{hot, crashed}, kMnist, {})->disturbed);
  CHECK_FALSE(summarise(std::vector{cool, cool}, kMnist, {})->disturbed);
}

TEST_CASE("runs that failed do not enter the estimate", "[statistics]") {
  space::Run crashed = steady_run(1s, 1s, 10);
  crashed.outcome = space::Outcome::Crashed;
  const auto trial = summarise(std::vector{crashed, steady_run(50ms, 50ms, 10)}, kMnist, {});
  REQUIRE(trial);
  CHECK(trial->estimate.runs == 1);
  CHECK(trial->parts.steady_step == Approx(0.05));
  CHECK(summarise(std::vector{crashed}, kMnist, {}).error() == "no run of the trial ended well");
}

}  // namespace nocturne::measure
