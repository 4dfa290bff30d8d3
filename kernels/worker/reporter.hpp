#pragma once

/// Where a training tells what happens: to the tuner as protocol events, or to the user at a terminal.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "measure/protocol/event_writer.hpp"

namespace nocturne::worker {

/// The events of the protocol, in the order of its README.
class Reporter {
 public:
  Reporter() = default;
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;
  virtual ~Reporter() = default;
  virtual void hello() = 0;
  virtual void phase_begin(const std::string& name) = 0;
  virtual void phase_end(const std::string& name) = 0;
  virtual void ready(const nlohmann::json& fields) = 0;
  virtual void sample(const protocol::SampleEvent& sample) = 0;
  virtual void epoch(std::int64_t index, std::chrono::nanoseconds wall, double loss) = 0;
  virtual void accuracy(double accuracy, double loss, std::int64_t examples) = 0;
  /// A point of a learning curve, after so many training steps.
  virtual void accuracy_after(std::int64_t steps, double accuracy, double loss, std::int64_t examples) = 0;
  virtual void norms(std::int64_t steps, const std::vector<protocol::LayerNorm>& layers) = 0;
  /// What the accelerator said of itself while it trained; workers of the CPU have none.
  virtual void device(const nlohmann::json& /*fields*/) {}
  virtual void memory(std::int64_t peak_rss_bytes, std::int64_t device_bytes) = 0;
  virtual void end(const std::string& status, const std::string& reason) = 0;
};

/// Appends to the file of events.
class ProtocolReporter final : public Reporter {
 public:
  /// `name` and `version` are the worker's. Throws std::runtime_error where the file cannot be written.
  ProtocolReporter(const std::string& path, const std::string& name, const std::string& version)
      : events_(path), worker_(name + " " + version) {}
  void hello() override { events_.hello(worker_); }
  void phase_begin(const std::string& name) override { events_.phase_begin(name); }
  void phase_end(const std::string& name) override { events_.phase_end(name); }
  void ready(const nlohmann::json& fields) override { events_.ready(fields); }
  void sample(const protocol::SampleEvent& sample) override { events_.sample(sample); }
  void epoch(std::int64_t index, std::chrono::nanoseconds wall, double loss) override {
    events_.epoch(index, wall, loss);
  }
  void accuracy(double accuracy, double loss, std::int64_t examples) override {
    events_.accuracy(accuracy, loss, examples);
  }
  void accuracy_after(std::int64_t steps, double accuracy, double loss, std::int64_t examples) override {
    events_.accuracy_after(steps, accuracy, loss, examples);
  }
  void norms(std::int64_t steps, const std::vector<protocol::LayerNorm>& layers) override {
    events_.norms(steps, layers);
  }
  void memory(std::int64_t peak_rss_bytes, std::int64_t device_bytes) override {
    events_.memory(peak_rss_bytes, device_bytes);
  }
  void device(const nlohmann::json& fields) override { events_.device(fields); }
  void end(const std::string& status, const std::string& reason) override { events_.end(status, reason); }

 private:
  protocol::EventWriter events_;
  std::string worker_;
};

/// Progress on stderr, results (accuracy, step times) on stdout.
class ConsoleReporter final : public Reporter {
 public:
  void hello() override {}
  void phase_begin(const std::string& name) override;
  void phase_end(const std::string& name) override;
  void ready(const nlohmann::json& fields) override;
  void sample(const protocol::SampleEvent& sample) override;
  void epoch(std::int64_t index, std::chrono::nanoseconds wall, double loss) override;
  void accuracy(double accuracy, double loss, std::int64_t examples) override;
  void accuracy_after(std::int64_t steps, double accuracy, double loss, std::int64_t examples) override;
  void norms(std::int64_t steps, const std::vector<protocol::LayerNorm>& layers) override;
  void device(const nlohmann::json& fields) override;
  void memory(std::int64_t peak_rss_bytes, std::int64_t device_bytes) override;
  void end(const std::string& status, const std::string& reason) override;

 private:
  std::chrono::steady_clock::time_point phase_start_;
  std::vector<double> step_ms_;  ///< one time a sample
  double last_loss_ = 0;
};

/// Returns what `work` returns. A phase that an exception leaves stays open in the events: that is where it happened.
template <typename Work>
auto in_phase(Reporter& reporter, const char* name, const Work& work) {
  reporter.phase_begin(name);
  auto result = work();
  reporter.phase_end(name);
  return result;
}

}  // namespace nocturne::worker
