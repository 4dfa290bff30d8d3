#pragma once

/// The shell line that repeats a run by hand.

#include <string>

#include "measure/run/runner.hpp"

namespace nocturne::measure {

/// "cd FOLDER && env -u NAME NAME=VALUE … taskset -c CPUS WORKER … --request FOLDER/request.json --events /dev/stdout":
/// the events appear on the terminal and the record of the run stays as it was. A run that took turns is repeated
/// alone.
[[nodiscard]] std::string repeat_command(const RunPlan& plan);

}  // namespace nocturne::measure
