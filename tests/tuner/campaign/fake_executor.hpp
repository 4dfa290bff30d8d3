#pragma once

/// An executor without processes: step times are a function of the configuration, and error comes when it is told to.

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tuner/executor/executor.hpp"

namespace nocturne::test {

class FakeExecutor final : public tuner::Executor {
 public:
  /// Seconds a step of a configuration.
  std::function<double(const space::Configuration&)> step_seconds = [](const space::Configuration&) { return 0.05; };
  /// Between-process spread of a process that is measured alone, as a factor on its step. Pairs have none.
  std::function<double(const space::Configuration&)> process_sd = [](const space::Configuration&) { return 1.0; };
  /// Factor on a plan's step, in pairs and alone.
  std::function<double(const measure::RunPlan&)> plan_factor = [](const measure::RunPlan&) { return 1.0; };
  /// ln of what the second side's step takes more in this pair, by the pair's count from 0.
  std::function<double(std::size_t)> pair_noise = [](std::size_t) { return 0.0; };
  /// Called before each run with its count from 0; what it returns is the outcome.
  std::function<space::Outcome(std::size_t, const space::Configuration&)> fate =
      [](std::size_t, const space::Configuration&) { return space::Outcome::Ok; };
  /// Likewise of a side of a pair in turns; the other one is then killed.
  std::function<space::Outcome(const space::Configuration&)> fate_in_turns = [](const space::Configuration&) {
    return space::Outcome::Ok;
  };
  std::optional<int> exit_code = {};  ///< with which a side of a pair in turns fails
  std::optional<int> signal = {};     ///< signal that ends runs which do not end well
  /// What the device of a run says, by the run's count from 0.
  std::function<std::optional<space::DeviceReport>(std::size_t)> device = [](std::size_t) { return std::nullopt; };

  /// Share of the machine that others take during a run, by its count from 0; empty: not known.
  std::function<std::optional<double>(std::size_t)> other_cpu = [](std::size_t) { return std::nullopt; };

  std::function<bool(const space::Configuration&)> can_be_built = [](const space::Configuration&) { return true; };
  std::string failure_reason = "no such flag";  ///< where it cannot
  /// Called while a configuration is prepared, and while a pair is measured. Ends that are asked for meanwhile are
  /// heard.
  std::function<void()> while_preparing = [] {}, while_in_turns = [] {};

  std::int64_t memory_limit = 0;  ///< limit of a run; 0: none
  /// The peak of a configuration. Above the limit it runs out of memory. Empty: nothing is known of memory.
  std::function<std::int64_t(const space::Configuration&)> peak_bytes{};

  bool knows_gate = true;
  std::function<bool()> reference_can_be_built = [] { return true; };
  /// How far a configuration's only layer has moved after a step of the gate, as a multiple of the reference's.
  std::function<double(const space::Configuration&)> moves = [](const space::Configuration&) { return 1.0; };
  /// Factor of its losses in whole epochs, and its test accuracy after them.
  std::function<double(const measure::RunPlan&)> loss_factor = [](const measure::RunPlan&) { return 1.0; };
  std::function<double(const space::Configuration&)> accuracy = [](const space::Configuration&) { return 0.98; };

  /// Steps of an epoch of a configuration.
  std::function<measure::Schedule(const space::Configuration&)> schedule = [](const space::Configuration&) {
    return measure::Schedule{.training_examples = 1000, .batch = 100, .partial_batch = protocol::PartialBatch::Train};
  };
  /// Test accuracy of a run after so many epochs, for its learning curve.
  std::function<double(const measure::RunPlan&, double)> accuracy_after = [](const measure::RunPlan&, double) {
    return 0.98;
  };
  /// Hears how long each run outside of pairs in turns lasted.
  std::function<void(std::chrono::nanoseconds)> pass = [](std::chrono::nanoseconds) {};

  std::string worker = "worker of the test";  ///< what identifies the program, its container included
  std::vector<int> usable_cpus;               ///< empty: nothing runs side by side
  std::string artifact;  ///< key of the build that every configuration uses; empty: nothing is built

  std::vector<space::Configuration> prepared, run_configurations;  ///< the gate's exact runs apart
  std::vector<measure::RunPlan> gate_plans;                        ///< these
  std::vector<measure::RunPlan> run_plans;                         ///< plans of runs outside of pairs in turns
  std::size_t pairs = 0;
  std::chrono::milliseconds deadline = measure::RunPlan{}.deadline;  ///< deadline of what is planned
  std::chrono::milliseconds pair_limit{};                            ///< limit of the last pair in turns

  std::expected<tuner::PreparedWorker, tuner::PreparationFailure> prepare(const space::Configuration& configuration,
                                                                          std::stop_token stop) override {
    prepared.push_back(configuration);
    while_preparing();
    if (stop.stop_requested())
      return std::unexpected(tuner::PreparationFailure{space::Outcome::Killed, "interrupted", ""});
    if (!can_be_built(configuration))
      return std::unexpected(tuner::PreparationFailure{space::Outcome::BuildFailed, failure_reason, "error: -Owhat"});
    return ready_to_start(configuration);
  }

  std::expected<tuner::PreparedWorker, tuner::PreparationFailure> prepare_reference(const space::Configuration& of,
                                                                                    std::stop_token) override {
    if (reference_can_be_built()) return ready_to_start(of);
    return std::unexpected(tuner::PreparationFailure{space::Outcome::BuildFailed, "no such flag", "error: -Owhat"});
  }

  [[nodiscard]] tuner::PreparedWorker ready_to_start(const space::Configuration& configuration = {}) const {
    tuner::PreparedWorker result;
    result.argv = {"/nowhere/worker"};
    result.worker = worker;
    result.artifact = artifact;
    if (!artifact.empty()) result.build = db::BuildRecord{.key = artifact, .program = "worker"};
    result.schedule = schedule(configuration);
    return result;
  }

  measure::RunPlan plan(const space::Configuration& configuration, const tuner::PreparedWorker& with,
                        const tuner::RunOrder& order) override {
    measure::RunPlan plan;
    plan.id = "run-" + std::to_string(next_id_++) + "-" + id_suffix;
    plan.purpose = order.purpose;
    plan.folder = "/nowhere/" + plan.id;
    plan.argv = with.argv;
    plan.artifact = with.artifact;
    plan.deadline = order.deadline ? std::chrono::ceil<std::chrono::milliseconds>(*order.deadline) : deadline;
    plan.request = tuner::request_of(configuration, order);
    return plan;
  }

  space::Run run(const measure::RunPlan& plan, const measure::RunControl&) override {
    const std::scoped_lock lock(mutex_);  // two at once, in a duet
    run_plans.push_back(plan);
    const auto configuration = space::Configuration::from_json(plan.request.configuration).value();
    if (plan.request.gate) return gate_run(plan, configuration);
    const std::size_t count = run_configurations.size();
    run_configurations.push_back(configuration);
    space::Run run = record(plan, configuration, plan.request.steps, process_sd(configuration));
    run.outcome = fate(count, configuration);
    run.device = device(count);
    run.load.other_cpu = other_cpu(count);
    if (peak_bytes) {
      const auto peak = peak_bytes(configuration);
      const bool exceeded = memory_limit > 0 && peak > memory_limit;
      if (exceeded) run.outcome = space::Outcome::OutOfMemory;
      run.memory = space::Memory{.peak_rss_bytes = exceeded ? memory_limit : peak, .device_bytes = 0};
    }
    if (run.outcome != space::Outcome::Ok) {
      run.reason = "the test wanted it";
      run.signal = signal;
      run.samples.clear();
    }
    pass(run.wall);
    return run;
  }

  measure::PairResult run_pair(const measure::PairPlan& plan, const measure::PairControl& control) override {
    ++pairs;
    pair_limit = plan.total_limit;
    measure::PairResult result;
    result.wanted = plan.slices;
    while_in_turns();
    if (control.stop.stop_requested()) {
      for (space::Run& run : result.runs) run.outcome = space::Outcome::Killed;
      return result;
    }
    for (const std::size_t side : {0UL, 1UL}) {
      const auto& planned = plan.sides[side];
      const auto configuration = space::Configuration::from_json(planned.plan.request.configuration).value();
      result.runs[side] =
          record(planned.plan, configuration, planned.slice_steps * static_cast<std::int64_t>(plan.slices),
                 side == 1 ? std::exp(pair_noise(pairs - 1)) : 1.0);
    }
    if (end_in_turns(plan, result)) return result;
    std::chrono::nanoseconds both{};  // each is alive as long as the other
    for (const space::Run& run : result.runs)
      for (const space::Sample& sample : run.samples) both += sample.wall;
    for (space::Run& run : result.runs) run.wall = both;
    for (std::size_t turn = 0; turn < plan.slices; ++turn) {
      for (const std::size_t side : {0UL, 1UL}) {
        const auto steps = static_cast<std::size_t>(plan.sides[side].slice_steps);
        const auto& samples = result.runs[side].samples;
        const auto first = samples.begin() + static_cast<std::ptrdiff_t>(turn * steps);
        result.slices.push_back({.side = side == 0 ? measure::Side::A : measure::Side::B,
                                 .samples = {first, first + static_cast<std::ptrdiff_t>(steps)}});
      }
    }
    return result;
  }

  [[nodiscard]] std::int64_t memory_limit_bytes() const override { return memory_limit; }
  [[nodiscard]] std::vector<int> cpus() const override { return usable_cpus; }

  std::string id_suffix = "a";  ///< ids are unique in a database: another executor, another suffix

 private:
  /// Whether a side fails, and with it the pair.
  bool end_in_turns(const measure::PairPlan& plan, measure::PairResult& result) const {
    for (const std::size_t side : {0UL, 1UL}) {
      const auto& request = plan.sides[side].plan.request;
      const auto outcome = fate_in_turns(space::Configuration::from_json(request.configuration).value());
      if (outcome == space::Outcome::Ok) continue;
      result.runs[side].outcome = outcome;
      result.runs[side].reason = "the test wanted it";
      result.runs[side].exit_code = exit_code;
      result.runs[1 - side].outcome = space::Outcome::Killed;
      for (space::Run& run : result.runs) run.samples.clear();
      return true;
    }
    return false;
  }

  space::Run gate_run(const measure::RunPlan& plan, const space::Configuration& configuration) {
    gate_plans.push_back(plan);
    space::Run run;
    run.id = plan.id;
    run.purpose = plan.purpose;
    run.folder = plan.folder.string();
    run.outcome = space::Outcome::Ok;
    run.ready = {{"gate", true}};
    run.started_unix_ns = 2'000'000'000;
    for (std::int64_t steps = 0; steps <= plan.request.gate->steps; ++steps) {
      const double moved = 0.01 * static_cast<double>(steps) * moves(configuration);
      run.norms.push_back({.steps = steps, .layer = "conv1.weights", .norm = 4.0, .moved = moved});
      if (steps > 0) run.samples.push_back({.first_step = steps - 1, .steps = 1, .loss = 2.3});
    }
    return run;
  }

  space::Run record(const measure::RunPlan& plan, const space::Configuration& configuration, std::int64_t steps,
                    double factor) const {
    space::Run run;
    run.id = plan.id;
    run.purpose = plan.purpose;
    run.folder = plan.folder.string();
    run.artifact = plan.artifact;
    run.outcome = space::Outcome::Ok;
    run.seed = static_cast<std::int64_t>(plan.request.seed);
    run.started_unix_ns = 1'000'000'000;
    const std::chrono::nanoseconds step(
        static_cast<std::int64_t>(step_seconds(configuration) * factor * plan_factor(plan) * 1e9));
    run.phases = {{.name = "compile", .wall = step, .cpu = step, .finished = true},
                  {.name = "first_step", .wall = 2 * step, .cpu = step, .finished = true}};
    if (plan.request.epochs > 0) {
      const auto an_epoch = static_cast<std::int64_t>(measure::steps_per_epoch(schedule(configuration)));
      steps = plan.request.curve ? draw_curve(plan, an_epoch, run) : an_epoch * plan.request.epochs;
      for (std::int64_t epoch = 0; epoch < steps / an_epoch; ++epoch)
        run.epochs.push_back({.index = epoch, .wall = an_epoch * step, .loss = 0.1});
    }
    for (std::int64_t index = 1; index <= steps; ++index)
      run.samples.push_back({.first_step = index, .steps = 1, .wall = step, .cpu = step, .data_wait = {}, .loss = 0.5});
    if (plan.request.epochs > 0)
      for (space::Sample& sample : run.samples) sample.loss = 0.5 * loss_factor(plan);
    if (plan.request.accuracy)
      run.accuracy = space::Accuracy{.accuracy = accuracy(configuration), .loss = 0.06, .examples = 10000};
    if (knows_gate) run.ready = {{"gate", true}};
    run.wall = step * (steps + 3);
    return run;
  }

  /// Steps that were trained: to the target, or all.
  [[nodiscard]] std::int64_t draw_curve(const measure::RunPlan& plan, std::int64_t an_epoch, space::Run& run) const {
    const protocol::CurveRequest& curve = *plan.request.curve;
    for (std::int64_t point = 1; point <= plan.request.epochs * curve.points_per_epoch; ++point) {
      const double epochs = static_cast<double>(point) / static_cast<double>(curve.points_per_epoch);
      run.curve.push_back({.steps = an_epoch * point / curve.points_per_epoch,
                           .test = {.accuracy = accuracy_after(plan, epochs), .loss = 0.1, .examples = 10000}});
      if (run.curve.back().test.accuracy >= curve.until.value_or(2)) break;
    }
    return run.curve.back().steps;
  }

  std::size_t next_id_ = 0;
  std::mutex mutex_;
};

}  // namespace nocturne::test
