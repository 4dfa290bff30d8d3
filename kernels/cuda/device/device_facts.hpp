#pragma once

/// What is known of the GPU, and whether it can do what is asked. Plain data: who asks the driver is in device.hpp.

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/cuda/settings.hpp"

namespace nocturne::cuda {

struct DeviceFacts {
  std::string error;         ///< the driver's sentence where it does not answer; empty: it does
  int count = 0;             ///< GPUs the driver shows this process
  std::string name;          ///< trainings use the first; CUDA_VISIBLE_DEVICES chooses it
  std::string pci_bus;       ///< "0000:17:00.0"
  int major = 0, minor = 0;  ///< compute capability
  std::int64_t memory_bytes = 0;
  std::int64_t free_bytes = 0;
  int runtime = 0, driver = 0;  ///< CUDA versions, 1000 · major + 10 · minor
};

/// Compiled for these and newer: below, CUDA 13 has no compiler.
inline constexpr int kLeastMajor = 7, kLeastMinor = 5;

/// Why nothing can be trained here, a sentence; empty: nothing is known against it.
[[nodiscard]] std::optional<std::string> obstacle(const DeviceFacts& facts, Precision precision);

/// Why a training of so many bytes cannot fit, whatever else runs on the GPU; empty: it may.
[[nodiscard]] std::optional<std::string> too_large(const DeviceFacts& facts, std::int64_t bytes);

/// 13000 → "13.0".
[[nodiscard]] std::string version_text(int version);

/// "2.5 GiB", "12 MiB".
[[nodiscard]] std::string size_text(std::int64_t bytes);

}  // namespace nocturne::cuda
