#pragma once

/// Turns what a training reports into the record that the gate judges, without a process and a file between.

#include "kernels/worker/reporter.hpp"
#include "space/run.hpp"

namespace nocturne::test {

class RecordingReporter final : public worker::Reporter {
 public:
  space::Run run;

  void hello() override {}
  void phase_begin(const std::string&) override {}
  void phase_end(const std::string&) override {}
  void ready(const nlohmann::json& fields) override { run.ready = fields; }
  void sample(const protocol::SampleEvent& sample) override {
    run.samples.push_back({.first_step = sample.first_step, .steps = sample.steps, .loss = sample.loss});
  }
  void epoch(std::int64_t index, std::chrono::nanoseconds wall, double loss) override {
    run.epochs.push_back({.index = index, .wall = wall, .loss = loss});
  }
  void accuracy(double accuracy, double loss, std::int64_t examples) override {
    run.accuracy = space::Accuracy{.accuracy = accuracy, .loss = loss, .examples = examples};
  }
  void accuracy_after(std::int64_t steps, double accuracy, double loss, std::int64_t examples) override {
    run.curve.push_back({.steps = steps, .test = {.accuracy = accuracy, .loss = loss, .examples = examples}});
  }
  void norms(std::int64_t steps, const std::vector<protocol::LayerNorm>& layers) override {
    for (const protocol::LayerNorm& each : layers)
      run.norms.push_back({.steps = steps, .layer = each.layer, .norm = each.norm, .moved = each.moved});
  }
  void memory(std::int64_t, std::int64_t) override {}
  void end(const std::string& status, const std::string& reason) override {
    run.outcome = space::outcome_from_text(status).value();
    run.reason = reason;
  }
};

}  // namespace nocturne::test
