#pragma once

/// An executor whose workers really train, in this process: two dense layers with dropout between them, on four clouds
/// of points. The reference is right; whoever has a `framework` in its configuration makes the mistake of that name:
///
///   right            none
///   frozen_layer     the first layer never moves
///   no_dropout       nothing is dropped
///   tenth_rate       steps a tenth as long
///   deaf, deaf_slow  knows nothing of the gate; the second with tenth_rate besides
///   forgetful        trains rightly, and guesses when it is tested
///   unsupported, crashed, diverged, silent (reports no accuracy)

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tuner/executor/executor.hpp"

namespace nocturne::test {

class SimulatedTrainer final : public tuner::Executor {
 public:
  std::string artifact = "build of the reference";
  std::function<void()> while_running = [] {};
  std::size_t reference_runs = 0, checked_runs = 0;  ///< that were started
  std::vector<measure::RunPlan> plans;

  std::expected<tuner::PreparedWorker, tuner::PreparationFailure> prepare(const space::Configuration&,
                                                                          std::stop_token) override {
    return ready();
  }
  std::expected<tuner::PreparedWorker, tuner::PreparationFailure> prepare_reference(const space::Configuration&,
                                                                                    std::stop_token) override {
    return ready();
  }

  measure::RunPlan plan(const space::Configuration& configuration, const tuner::PreparedWorker& prepared,
                        const tuner::RunOrder& order) override {
    measure::RunPlan plan;
    plan.id = "simulated-" + std::to_string(plans.size());
    plan.purpose = order.purpose;
    plan.folder = "/nowhere/" + plan.id;
    plan.artifact = prepared.artifact;
    plan.request = tuner::request_of(configuration, order);
    return plan;
  }

  space::Run run(const measure::RunPlan& plan, const measure::RunControl& control) override {
    plans.push_back(plan);
    const std::string mistake = plan.request.configuration.value("framework", "");
    ++(mistake.empty() ? reference_runs : checked_runs);
    while_running();
    space::Run run;
    run.id = plan.id;
    run.purpose = plan.purpose;
    run.folder = plan.folder.string();
    run.seed = static_cast<std::int64_t>(plan.request.seed);
    run.outcome = space::Outcome::Ok;
    run.reason = "the test wanted it";
    if (control.stop.stop_requested()) run.outcome = space::Outcome::Killed;
    if (mistake == "unsupported") run.outcome = space::Outcome::Unsupported;
    if (mistake == "crashed") run.outcome = space::Outcome::Crashed;
    if (mistake == "diverged") run.outcome = space::Outcome::Diverged;
    if (run.outcome != space::Outcome::Ok) return run;
    run.reason.clear();
    train(plan.request, mistake, run);
    return run;
  }

  measure::PairResult run_pair(const measure::PairPlan&, const measure::PairControl&) override { return {}; }

 private:
  static constexpr std::size_t kInputs = 8, kHidden = 12, kClasses = 4;
  static constexpr std::int64_t kBatch = 32, kEpoch = 300;
  using Input = std::array<double, kInputs>;

  struct Network {
    std::array<Input, kHidden> first{};
    std::array<std::array<double, kHidden>, kClasses> second{};
  };

  [[nodiscard]] tuner::PreparedWorker ready() const {
    tuner::PreparedWorker prepared;
    prepared.argv = {"/nowhere/worker"};
    prepared.artifact = artifact;
    prepared.schedule = {.training_examples = kBatch * kEpoch, .batch = kBatch};
    return prepared;
  }

  static Input point_of(std::size_t label, std::mt19937_64& random) {
    std::normal_distribution<double> normal;
    Input point{};
    for (std::size_t i = 0; i < kInputs; ++i) point[i] = (i / 2 == label ? 2.0 : 0.0) + 0.6 * normal(random);
    return point;
  }

  /// Probabilities of the classes; `kept` is what dropout leaves of each hidden unit.
  static std::array<double, kClasses> forward(const Network& network, const Input& point,
                                              const std::array<double, kHidden>& kept,
                                              std::array<double, kHidden>& hidden) {
    std::array<double, kClasses> output{};
    for (std::size_t h = 0; h < kHidden; ++h) {
      double sum = 0;
      for (std::size_t i = 0; i < kInputs; ++i) sum += network.first[h][i] * point[i];
      hidden[h] = std::max(0.0, sum) * kept[h];
    }
    double largest = -1e300, total = 0;
    for (std::size_t c = 0; c < kClasses; ++c) {
      for (std::size_t h = 0; h < kHidden; ++h) output[c] += network.second[c][h] * hidden[h];
      largest = std::max(largest, output[c]);
    }
    for (double& each : output) total += each = std::exp(each - largest);
    for (double& each : output) each /= total;
    return output;
  }

  /// One step of gradient descent; its mean loss.
  static double step(Network& network, std::mt19937_64& data, std::mt19937_64& drops, bool dropout, double rate,
                     bool frozen) {
    Network gradient;
    double loss = 0;
    for (std::int64_t n = 0; n < kBatch; ++n) {
      const std::size_t label = data() % kClasses;
      const Input point = point_of(label, data);
      std::array<double, kHidden> kept{}, hidden{};
      for (double& each : kept) each = !dropout ? 1.0 : (drops() & 1U) != 0 ? 2.0 : 0.0;
      const auto output = forward(network, point, kept, hidden);
      loss -= std::log(output[label] + 1e-12) / kBatch;
      for (std::size_t h = 0; h < kHidden; ++h) {
        double back = 0;
        for (std::size_t c = 0; c < kClasses; ++c) {
          const double error = (output[c] - (c == label ? 1.0 : 0.0)) / kBatch;
          gradient.second[c][h] += error * hidden[h];
          back += error * network.second[c][h];
        }
        for (std::size_t i = 0; i < kInputs && hidden[h] > 0; ++i) gradient.first[h][i] += back * kept[h] * point[i];
      }
    }
    for (std::size_t h = 0; h < kHidden; ++h) {
      for (std::size_t c = 0; c < kClasses; ++c) network.second[c][h] -= rate * gradient.second[c][h];
      for (std::size_t i = 0; i < kInputs && !frozen; ++i) network.first[h][i] -= rate * gradient.first[h][i];
    }
    return loss;
  }

  template <typename Layer>
  static space::Norm norm_of(const char* name, std::int64_t steps, const Layer& now, const Layer& began) {
    double norm = 0, moved = 0;
    for (std::size_t row = 0; row < now.size(); ++row) {
      for (std::size_t i = 0; i < now[row].size(); ++i) {
        norm += now[row][i] * now[row][i];
        moved += (now[row][i] - began[row][i]) * (now[row][i] - began[row][i]);
      }
    }
    return {.steps = steps, .layer = name, .norm = std::sqrt(norm), .moved = std::sqrt(moved)};
  }

  static double accuracy_of(const Network& network) {
    constexpr int kTested = 1000;
    std::mt19937_64 random(99);
    std::array<double, kHidden> all{}, hidden{};
    all.fill(1.0);
    int right = 0;
    for (int n = 0; n < kTested; ++n) {
      const std::size_t label = random() % kClasses;
      const auto output = forward(network, point_of(label, random), all, hidden);
      right += std::max_element(output.begin(), output.end()) - output.begin() == static_cast<std::ptrdiff_t>(label);
    }
    return static_cast<double>(right) / kTested;
  }

  static void train(const protocol::Request& request, const std::string& mistake, space::Run& run) {
    std::mt19937_64 data(request.seed), drops(request.seed + (mistake.empty() ? 7'000'000 : 9'000'000));
    std::normal_distribution<double> normal;
    Network network;
    for (auto& row : network.first)
      for (double& weight : row) weight = 0.5 * normal(data);
    for (auto& row : network.second)
      for (double& weight : row) weight = 0.5 * normal(data);
    const Network began = network;
    const bool deaf = mistake.starts_with("deaf"), gate = request.gate && !deaf;
    const bool slow = mistake == "tenth_rate" || mistake == "deaf_slow";
    const std::int64_t steps = gate ? request.gate->steps : request.epochs > 0 ? kEpoch : request.steps + 1;
    const auto report = [&](std::int64_t done) {
      if (!gate) return;
      run.norms.push_back(norm_of("hidden.weights", done, network.first, began.first));
      run.norms.push_back(norm_of("output.weights", done, network.second, began.second));
    };
    report(0);
    for (std::int64_t i = 0; i < steps; ++i) {
      const double loss =
          step(network, data, drops, !gate && mistake != "no_dropout", slow ? 0.02 : 0.2, mistake == "frozen_layer");
      report(i + 1);
      if (gate || i > 0) run.samples.push_back({.first_step = i, .steps = 1, .loss = loss});
    }
    if (request.epochs > 0) run.epochs.push_back({.index = 0, .loss = 0.3});
    if (request.accuracy && mistake != "silent") {
      run.accuracy = space::Accuracy{
          .accuracy = mistake == "forgetful" ? 0.25 : accuracy_of(network), .loss = 0.1, .examples = 1000};
    }
    run.ready = {{"gate", !deaf}};
  }
};

}  // namespace nocturne::test
