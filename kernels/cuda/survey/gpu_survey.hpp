#pragma once

/// What a GPU can do at best, from loops that run on it: how often each is repeated, which of two for the same figure
/// counts, what is said of one that fails. Host logic; the loops of a real GPU are in gpu_loops.hpp, tests play them.

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernels/cuda/device/device_facts.hpp"
#include "kernels/machine/measurement.hpp"

namespace nocturne::cuda {

/// Something a GPU does again and again, and what it must come to.
struct GpuLoop {
  std::string name;    ///< name of the figure: fma_f32, fma_tf32, fma_bf16, fma_f16, triad, to_device, from_device
  std::string unit;    ///< GFLOP/s, GB/s
  std::string kernel;  ///< who does it: "fma", "mma", "cudnn", "triad", "copy"
  double work = 0;  ///< floating-point operations (a multiplication and an addition are two) or bytes of one iteration
  std::int64_t working_set_bytes = 0;  ///< 0: registers
  std::int64_t fewest = 1, most = 1;   ///< iterations for which `is_right` is distinguished from chance
  /// Does so many iterations; how long the GPU took by its own clock. May throw: the figure is then absent.
  std::function<std::chrono::nanoseconds(std::int64_t iterations)> run = {};
  /// Whether what the last run left is what it must be.
  std::function<bool()> is_right = {};
  std::string absent = {};  ///< why this GPU cannot do it, a sentence; then nothing else is asked
};

/// One measurement a name, in the order of the loops, about equally long in turn. Of several loops with one name the
/// fastest that computed what it must counts; where none did, the fastest, as wrong.
[[nodiscard]] std::vector<machine::Measurement> survey_gpu(const std::vector<GpuLoop>& loops, machine::Seconds budget);

/// {"name", "compute_capability", "memory_bytes", "measurements": […]}, each as nocturne-machine has it.
[[nodiscard]] nlohmann::json describe_gpu(const DeviceFacts& facts,
                                          const std::vector<machine::Measurement>& measurements);

}  // namespace nocturne::cuda
