#pragma once

/// The command line.

#include <stdexcept>
#include <string>
#include <vector>

#include "measure/protocol/request.hpp"

namespace nocturne::cuda {

/// what() says which argument is wrong and what is allowed.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Command { Serve, Train, Plan, Probe, Help, Version };

struct Options {
  Command command = Command::Help;
  std::string request_path, events_path;  ///< Serve
  protocol::Request request;              ///< Train, Plan
};

/// Throws UsageError.
[[nodiscard]] Options parse_options(const std::vector<std::string>& arguments);

[[nodiscard]] std::string help_text();

}  // namespace nocturne::cuda
