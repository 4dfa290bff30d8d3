#pragma once

/// The command line.

#include <string>
#include <vector>

#include "kernels/worker/arguments.hpp"
#include "measure/protocol/request.hpp"

namespace nocturne::cuda {

using worker::UsageError;

enum class Command { Serve, Train, Plan, Probe, Machine, Help, Version };

struct Options {
  Command command = Command::Help;
  std::string request_path, events_path;  ///< Serve
  protocol::Request request;              ///< Train, Plan
  double survey_seconds = 10;             ///< Machine: for all measurements of all GPUs together
};

/// Throws UsageError.
[[nodiscard]] Options parse_options(const std::vector<std::string>& arguments);

[[nodiscard]] std::string help_text();

}  // namespace nocturne::cuda
