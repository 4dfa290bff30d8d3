#pragma once

/// Whether the GPU worker can be used here, and what is missing. Pure: all from what was probed.

#include <filesystem>

#include "tuner/doctor/finding.hpp"

namespace nocturne::tuner {

/// `sees_gpu`: the system shows an NVIDIA GPU; `program`: nocturne-cudnn, empty where it was not built.
[[nodiscard]] Diagnosis check_gpu_worker(bool sees_gpu, const std::filesystem::path& program);

}  // namespace nocturne::tuner
