#pragma once

/// When a campaign ends. Whichever limit is reached first; without any it ends when the strategy has nothing left.

#include <chrono>
#include <cstdint>
#include <optional>

namespace nocturne::space {

/// Local time of day; after midnight where that hour has passed when the campaign starts.
struct TimeOfDay {
  int hour = 0;    ///< 0 to 23
  int minute = 0;  ///< 0 to 59
  friend bool operator==(const TimeOfDay&, const TimeOfDay&) = default;
};

struct Budget {
  std::optional<std::int64_t> trials;
  std::optional<std::chrono::seconds> wall;  ///< limit for all sessions of the campaign together
  std::optional<TimeOfDay> until;            ///< end of the present session
  friend bool operator==(const Budget&, const Budget&) = default;
};

}  // namespace nocturne::space
