#pragma once

/// NVIDIA's management library (libnvidia-ml.so.1), loaded when it is there: the driver brings it, the toolkit need
/// not.

#include <memory>
#include <optional>
#include <string>

#include "kernels/cuda/device/device_watch.hpp"

namespace nocturne::cuda {

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
