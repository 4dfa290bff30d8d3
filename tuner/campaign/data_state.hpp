#pragma once

/// Which images a trial was trained on: a folder of one's own may hold others tomorrow.

#include <string>

#include "space/workload.hpp"

namespace nocturne::tuner {

/// Digest of the names, sizes and times of change of all files below the workload's own folder of images; no file is
/// read. Empty where the workload has no such folder. A folder that cannot be walked to its end has the state of what
/// was seen of it: its images are missed when they are read (images_gone, session.hpp).
[[nodiscard]] std::string data_state(const space::Workload& workload);

}  // namespace nocturne::tuner
