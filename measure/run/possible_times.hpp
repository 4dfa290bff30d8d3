#pragma once

/// What a worker says of its times, held against what the supervisor saw of its life.
///
/// Only what is certain counts: nobody who means well is called a liar. Parts of a life that follow one another are not
/// longer than it, and no process takes more than all processors. That little of a life is accounted for proves
/// nothing: one may read, evaluate or write without saying so.

#include <chrono>
#include <optional>

#include "measure/run/event_reader.hpp"

namespace nocturne::measure {

/// How long the process lived, by the supervisor's clock.
struct ProcessLife {
  std::chrono::nanoseconds wall{};
  int processors = 0;  ///< processors of the machine; 0: not known, and no processor time is too long
};

/// The first thing that cannot be, with its line (0 where `events` has none), or nothing. Pure.
/// Samples follow one another, and so do their waits for data, epochs, and phases of one name. The clocks may differ by
/// 1 % and 25 ms. Steps that take less than 10 ns each, all samples together, are none: reading the clock takes longer.
/// (A worker may have rounded one of its samples down to nothing.)
[[nodiscard]] std::optional<EventError> impossible_time(const Events& events, const ProcessLife& life);

}  // namespace nocturne::measure
