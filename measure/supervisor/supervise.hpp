#pragma once

/// The supervisor's work: one worker, from fork to the last of its descendants. Sleeps in poll(2) while nothing
/// happens.

#include "measure/supervisor/control.hpp"

namespace nocturne::measure {

/// Serves the tuner behind `control` (a stream socket): reads the spec, starts the worker, watches, kills what is left,
/// writes result.json into the run's folder and reports. `tuner` is the process that started this one.
/// Returns the exit code of the program: 0 when a result was reported, 1 without a spec or when the tuner was gone.
/// REQUIRES: a process of its own with one thread; signals, umask and subreaper state are changed.
int supervise(int control, pid_t tuner);

}  // namespace nocturne::measure
