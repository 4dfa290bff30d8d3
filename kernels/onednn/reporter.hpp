#pragma once

/// Where a training tells what happens (kernels/worker/reporter.hpp), by this worker's names.

#include <string>

#include "kernels/onednn/version.hpp"
#include "kernels/worker/reporter.hpp"

namespace nocturne::onednn {

using worker::ConsoleReporter;
using worker::Reporter;

/// Says who it is.
class ProtocolReporter final : public worker::ProtocolReporter {
 public:
  explicit ProtocolReporter(const std::string& path)
      : worker::ProtocolReporter(path, std::string(kWorkerName) + " " + kWorkerVersion) {}
};

}  // namespace nocturne::onednn
