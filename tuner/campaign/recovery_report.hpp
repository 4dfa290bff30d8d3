#pragma once

/// What a start found of a session that was killed, and what it did about it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nocturne::tuner {

struct Recovery {
  std::vector<std::int64_t> trials{};  ///< numbers of those cut short; they run again
  std::int64_t runs = 0;               ///< that were in flight, now marked as killed
  std::size_t processes = 0;           ///< left over from killed sessions of any campaign, ended
  std::size_t control_groups = 0;      ///< likewise, removed
  /// When its tuner spoke last, if it did not say that it ended.
  std::optional<std::int64_t> killed_about_unix_ns{};

  /// Whether something was killed; a session that the user ended leaves at most a trial cut short.
  [[nodiscard]] bool after_kill() const;
  [[nodiscard]] bool empty() const { return trials.empty() && !after_kill(); }
};

/// One line without its end: "Found after a kill at about 03:12: trial 31 was in flight and runs again, …". Local time.
/// Empty where nothing was found.
[[nodiscard]] std::string to_text(const Recovery& recovery);

}  // namespace nocturne::tuner
