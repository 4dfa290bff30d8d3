#pragma once

/// How a worker begins that was started with a request: it is read, or the events say why it could not be.

#include <functional>
#include <string>

#include "kernels/worker/reporter.hpp"
#include "measure/protocol/request.hpp"

namespace nocturne::worker {

/// Reads the file and hands the request on; returns what `train` returns, the exit code. Where there is no request to
/// be read, the events are hello and end (failed, with the reason), and it returns 1.
[[nodiscard]] int serve(const std::string& request_path, Reporter& reporter,
                        const std::function<int(const protocol::Request&)>& train);

}  // namespace nocturne::worker
