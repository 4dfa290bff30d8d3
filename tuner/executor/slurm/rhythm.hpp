#pragma once

/// Signs of life between machines. Who lives changes something again and again, who watches looks as often. Both count
/// their own pauses: no clock of a node has to be right, and a job that is suspended and resumed was not silent.

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

namespace nocturne::tuner {

struct Rhythm {
  std::chrono::milliseconds pause = std::chrono::seconds(10);  ///< between two beats, and between two looks
  int silent_looks = 12;                                       ///< that find what the look before them found
};

/// False: stopped before its end.
bool pause_for(std::chrono::milliseconds time, const std::stop_token& stop);

/// Looks until so many looks in a row find the same. A look that gives nothing is not silent: nothing is known then.
/// False: stopped before, or nothing could be seen for the time of fifteen silences.
[[nodiscard]] bool wait_for_silence(const std::function<std::optional<std::string>()>& look, const Rhythm& rhythm,
                                    const std::stop_token& stop);

}  // namespace nocturne::tuner
