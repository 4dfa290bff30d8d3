#pragma once

/// What a GPU said of itself during a training, summed up for the event `device` (measure/protocol/README.md).

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace nocturne::cuda {

/// At one moment; empty: the GPU does not tell.
struct DeviceReading {
  std::optional<double> sm_clock_mhz, memory_clock_mhz, temperature_c, power_w;
  std::optional<double> energy_j;  ///< since some moment long ago
  std::uint64_t throttle_bits = 0;
};

/// The reasons among the bits that lower the clocks, by short names: "power_cap", "thermal", "hardware", …
/// An idle GPU and one whose clocks were set by hand are not held back.
[[nodiscard]] std::vector<std::string> throttle_reasons(std::uint64_t bits);

class DeviceWatch {
 public:
  using Clock = std::chrono::steady_clock;

  /// `read` is asked by look(), at most once in `interval`.
  DeviceWatch(std::string name, std::function<DeviceReading()> read,
              Clock::duration interval = std::chrono::milliseconds(200));

  /// To be called between samples, where it costs no sample anything.
  void look(Clock::time_point now = Clock::now());
  /// A last look, whatever the interval, and the sums. Null: it never looked.
  [[nodiscard]] nlohmann::json summary();

 private:
  std::string name_;
  std::function<DeviceReading()> read_;
  Clock::duration interval_;
  std::optional<Clock::time_point> looked_;
  std::vector<DeviceReading> readings_;
};

// NVIDIA's management library (libnvidia-ml.so.1), loaded when it is there: the driver brings it, the toolkit need
// not.

class Nvml {
 public:
  /// Opens the GPU at this place ("0000:17:00.0"). Empty: there is no library, or it does not know the GPU.
  [[nodiscard]] static std::unique_ptr<Nvml> open(const std::string& pci_bus);
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml();

  /// What it says now; what it does not say stays empty. Takes some tenths of a millisecond.
  [[nodiscard]] DeviceReading read() const;

 private:
  Nvml() = default;
  struct Functions;
  std::unique_ptr<Functions> functions_;
  void* library_ = nullptr;
  void* device_ = nullptr;
};

}  // namespace nocturne::cuda
