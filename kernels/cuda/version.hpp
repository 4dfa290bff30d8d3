#pragma once

namespace nocturne::cuda {

inline constexpr const char* kWorkerName = "nocturne-cudnn";
inline constexpr const char* kWorkerVersion = "0.1.0";

}  // namespace nocturne::cuda
