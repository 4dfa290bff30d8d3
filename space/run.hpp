#pragma once

/// The record of one worker process: raw, as measured. Objectives are computed from it when asked.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "space/outcome.hpp"

namespace nocturne::space {

/// The time of `steps` training steps, synchronised at its end.
struct Sample {
  std::int64_t first_step = 0;  ///< 0 is the first training step of the process
  std::int64_t steps = 1;
  std::chrono::nanoseconds wall{};
  std::chrono::nanoseconds cpu{};        ///< CPU time of all threads of the worker
  std::chrono::nanoseconds data_wait{};  ///< the part of `wall` spent waiting for input
  std::optional<double> loss;            ///< loss of the last step; empty if not finite
  friend bool operator==(const Sample&, const Sample&) = default;
};

/// What the time of a training step goes into.
inline constexpr const char* kStepParts[] = {"data", "forward", "backward", "optimizer", "other"};

struct Phase {
  std::string name;  ///< import, data, build, compile, first_step, accuracy
  std::chrono::nanoseconds wall{};
  std::chrono::nanoseconds cpu{};
  bool finished = false;  ///< false: the run ended inside it, so that a hang has an address
  friend bool operator==(const Phase&, const Phase&) = default;
};

struct Epoch {
  std::int64_t index = 0;
  std::chrono::nanoseconds wall{};
  std::optional<double> loss;
  friend bool operator==(const Epoch&, const Epoch&) = default;
};

struct Accuracy {
  double accuracy = 0;  ///< 0 to 1
  double loss = 0;
  std::int64_t examples = 0;
  friend bool operator==(const Accuracy&, const Accuracy&) = default;
};

/// A point of a learning curve: how the network did on the test set while it trained.
struct CurvePoint {
  std::int64_t steps = 0;  ///< training steps done before
  Accuracy test;
  friend bool operator==(const CurvePoint&, const CurvePoint&) = default;
};

/// The size of one tensor of parameters in a run of the gate.
struct Norm {
  std::int64_t steps = 0;       ///< training steps done before; 0: initial weights
  std::string layer;            ///< layer and tensor: "conv1.weights"
  std::optional<double> norm;   ///< Euclidean; empty where not finite
  std::optional<double> moved;  ///< Euclidean distance from its initial values; likewise
  friend bool operator==(const Norm&, const Norm&) = default;
};

struct Memory {
  std::int64_t peak_rss_bytes = 0;
  std::int64_t device_bytes = 0;
  friend bool operator==(const Memory&, const Memory&) = default;
};

/// Range of a device's readings; a member is empty if the device does not report it.
struct ReadingRange {
  std::optional<double> min, mean, max;
  friend bool operator==(const ReadingRange&, const ReadingRange&) = default;
};

/// What an accelerator said of itself while a run trained (event `device` of measure/protocol).
struct DeviceReport {
  std::string name;
  std::int64_t readings = 0;       ///< how often it was asked
  std::optional<double> energy_j;  ///< energy that the whole device used from the first step to the last
  ReadingRange sm_clock_mhz, memory_clock_mhz;
  ReadingRange temperature_c;               ///< without a mean
  ReadingRange power_w;                     ///< without a minimum
  std::map<std::string, double> throttled;  ///< reason for lower clocks → share of the readings, 0 to 1
  friend bool operator==(const DeviceReport&, const DeviceReport&) = default;
};

/// What else happened on the machine while the run lasted. Empty: the kernel does not tell.
struct Load {
  std::optional<double> loadavg_before, loadavg_after;  ///< 1-minute load average
  std::optional<double>
      cpu_pressure;  ///< share of the run's time in which some task waited for a CPU (PSI "some"), 0 to 1
  std::optional<double> memory_pressure, io_pressure;  ///< the same for memory and for IO
  std::optional<double> steal;                         ///< share of CPU time taken by the hypervisor, 0 to 1
  std::optional<double> other_cpu;  ///< CPU time of other processes as a share of the machine's, 0 to 1
  friend bool operator==(const Load&, const Load&) = default;
};

struct Run {
  std::string id;  ///< unique; in the worker's environment as NOCTURNE_RUN_ID
  Purpose purpose = Purpose::Search;
  Outcome outcome = Outcome::Killed;
  std::string reason;  ///< empty when ok
  std::optional<int> exit_code;
  std::optional<int> signal;
  std::string folder;    ///< folder of its files
  std::string command;   ///< the shell line that repeats it by hand
  std::string artifact;  ///< key of the build it used, or empty
  std::int64_t started_unix_ns = 0;
  std::chrono::nanoseconds wall{};  ///< lifetime of the process
  std::chrono::nanoseconds cpu{};   ///< CPU time of the worker and all its descendants, as far as the kernel reports it
  std::int64_t seed = 1;
  nlohmann::json ready;  ///< the worker's `ready` event: versions, threads, isa, implementations
  std::vector<Phase> phases;
  std::vector<Sample> samples;
  std::vector<Epoch> epochs;
  std::vector<CurvePoint> curve;  ///< by steps, ascending; empty where none was asked for
  std::vector<Norm> norms;        ///< as the worker reported them; present in runs of the gate only
  std::optional<Accuracy> accuracy;
  std::optional<Memory> memory;
  std::optional<DeviceReport> device;  ///< empty: no accelerator, or it told nothing
  Load load;
  std::string log_tail;  ///< end of stdout and stderr
};

}  // namespace nocturne::space
