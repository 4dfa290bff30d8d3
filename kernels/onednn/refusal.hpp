#pragma once

/// The answers that all native workers share (kernels/worker/refusal.hpp), by this worker's names.

#include "kernels/worker/refusal.hpp"

namespace nocturne::onednn {

using worker::Diverged;
using worker::Unsupported;

}  // namespace nocturne::onednn
