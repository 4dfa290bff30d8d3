#pragma once

/// The command line.

#include <optional>
#include <string>
#include <vector>

#include "kernels/worker/arguments.hpp"
#include "measure/protocol/request.hpp"

namespace nocturne::onednn {

using worker::UsageError;

enum class Command { Serve, Train, Describe, CheckGradients, Help, Version };

struct Options {
  Command command = Command::Help;
  std::string request_path, events_path;  ///< Serve
  protocol::Request request;              ///< Train, Describe (network), CheckGradients (configuration, seed)
  bool profile = false;                   ///< Train: where the time goes, by operation
  double peak_gflops = 0;                 ///< with profile: what the machine can do; 0: not known
};

/// Throws UsageError.
[[nodiscard]] Options parse_options(const std::vector<std::string>& arguments);

[[nodiscard]] std::string help_text();

}  // namespace nocturne::onednn
