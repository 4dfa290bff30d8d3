#pragma once

/// The loops of a real GPU, for survey_gpu(), and the survey of all GPUs there are.

#include <vector>

#include "kernels/cuda/survey/gpu_survey.hpp"

namespace nocturne::cuda {

/// Loops for the current GPU; `facts` are its own. A loop takes its memory when it first runs, all less than 2 GiB,
/// and keeps it as long as it lives.
[[nodiscard]] std::vector<GpuLoop> gpu_loops(const DeviceFacts& facts);

/// {"gpus": […]} of all GPUs that the driver shows this process (describe_gpu), which share `budget`. Where none can be
/// used also "reason", a sentence.
[[nodiscard]] nlohmann::json survey_gpus(machine::Seconds budget);

}  // namespace nocturne::cuda
