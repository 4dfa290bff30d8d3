#pragma once

/// The worker's side of the protocol: appends one JSON line per event and flushes it (README.md beside this file).

#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace nocturne::protocol {

struct SampleEvent {
  std::int64_t first_step = 0;  ///< 0 is the first training step of the process
  std::int64_t steps = 1;
  std::int64_t wall_ns = 0;
  std::int64_t cpu_ns = 0;  ///< CPU time of all threads of the process
  std::int64_t data_wait_ns = 0;
  double loss = 0;         ///< mean over the batch, of the last step
  bool loss_known = true;  ///< false: the event has none
};

/// The size of one tensor of parameters while the gate runs.
struct LayerNorm {
  std::string layer;  ///< layer and tensor: "conv1.weights"
  double norm = 0;    ///< Euclidean
  double moved = 0;   ///< Euclidean distance from its initial values
};

/// Appends events to a file opened with O_APPEND; each event is one write(2), so a torn line can only be the last.
/// Not thread-safe. Throws std::runtime_error where the file cannot be written: a worker without a voice must stop.
class EventWriter {
 public:
  explicit EventWriter(const std::string& path);
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;
  ~EventWriter();

  void hello(const std::string& worker);
  void phase_begin(const std::string& name);
  /// Ends the phase last begun under this name; wall and CPU time are taken by the writer itself.
  void phase_end(const std::string& name);
  void ready(const nlohmann::json& fields);  ///< versions{}, threads, isa or device, implementations[]
  void sample(const SampleEvent& sample);
  void epoch(std::int64_t index, std::chrono::nanoseconds wall, double loss);
  void accuracy(double accuracy, double loss, std::int64_t examples);
  /// A point of a learning curve: the accuracy after so many training steps, while training goes on.
  void accuracy_after(std::int64_t steps, double accuracy, double loss, std::int64_t examples);
  void norms(std::int64_t steps, const std::vector<LayerNorm>& layers);  ///< after so many steps; 0: as it begins
  void device(const nlohmann::json& fields);  ///< what an accelerator said of itself (README)
  void memory(std::int64_t peak_rss_bytes, std::int64_t device_bytes);
  void end(const std::string& status, const std::string& reason);

 private:
  void write(const nlohmann::json& event) const;
  struct Start {
    std::chrono::steady_clock::time_point wall;
    std::chrono::nanoseconds cpu;
  };
  int file_ = -1;
  std::map<std::string, Start> open_phases_;
};

/// CPU time of all threads of this process.
[[nodiscard]] std::chrono::nanoseconds process_cpu_time();

}  // namespace nocturne::protocol
