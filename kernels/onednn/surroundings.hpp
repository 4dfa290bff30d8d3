#pragma once

/// What the launcher has put around this process (kernels/worker/surroundings.hpp), by this worker's names.

#include "kernels/worker/surroundings.hpp"

namespace nocturne::onednn {

using worker::peak_resident_bytes;
using worker::surroundings;

}  // namespace nocturne::onednn
