#pragma once

/// Runs the command and says what happened, in the words of the worker protocol.

#include "kernels/command/options.hpp"
#include "measure/protocol/event_writer.hpp"
#include "measure/protocol/request.hpp"

namespace nocturne::command {

/// Returns the worker's exit code: the command's own where that is not 0. A command that died of a signal takes this
/// process along by the same signal, so that whoever supervises it sees what happened.
[[nodiscard]] int converse(const Options& options, const protocol::Request& request, protocol::EventWriter& events);

}  // namespace nocturne::command
