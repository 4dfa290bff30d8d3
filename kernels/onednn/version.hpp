#pragma once

namespace nocturne::onednn {

inline constexpr const char* kWorkerName = "nocturne-onednn";
inline constexpr const char* kWorkerVersion = "0.1.0";

}  // namespace nocturne::onednn
