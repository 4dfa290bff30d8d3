#pragma once

/// The shell line that repeats a run by hand.

#include <string>
#include <string_view>

#include "measure/run/runner.hpp"

namespace nocturne::measure {

/// One word for a POSIX shell: as it is where that is safe, else in single quotes.
[[nodiscard]] std::string shell_quoted(std::string_view word);

/// "cd FOLDER && env -u NAME NAME=VALUE … taskset -c CPUS WORKER … --request FOLDER/request.json --events /dev/stdout":
/// the events appear on the terminal and the record of the run stays as it was. A run that took turns is repeated
/// alone.
[[nodiscard]] std::string repeat_command(const RunPlan& plan);

}  // namespace nocturne::measure
