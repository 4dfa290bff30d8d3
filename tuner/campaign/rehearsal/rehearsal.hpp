#pragma once

/// Before dark: every row is prepared and trained three steps, the largest batch first, while the engineer is still
/// there to see what will not go.

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "tuner/campaign/rehearsal/rehearsal_rows.hpp"
#include "tuner/campaign/sitting.hpp"

namespace nocturne::tuner {

inline constexpr std::int64_t kRehearsalSteps = 3;
/// After so many batches of a row that were out of memory only its smallest is tried: whether it goes is the question,
/// how large its batch may be is the search's.
inline constexpr std::size_t kMostTooLarge = 2;

/// How a rehearsal came out; each row's own result stands in the database.
struct RehearsalReport {
  std::size_t rows = 0;       ///< that are known now, those of earlier sittings included
  std::size_t no_go = 0;      ///< of these
  std::size_t not_tried = 0;  ///< for want of time
  bool default_goes = true;   ///< false: the default's own row is a no-go
  bool interrupted = false;
  std::string left_out;  ///< of the space, a sentence; or empty
};

/// "The rehearsal: 11 of 12 rows go, 1 is a no-go".
[[nodiscard]] std::string to_text(const RehearsalReport& report);

class Rehearsal {
 public:
  struct Options {
    bool again = false;                             ///< rows that were a no-go before are tried again
    std::optional<std::chrono::nanoseconds> limit;  ///< no further row is begun after this time
  };

  explicit Rehearsal(const Sitting& sitting) : sitting_(sitting) {}

  /// Tries the rows that were not tried in this generation of the campaign, and keeps what comes out. Deadline, memory
  /// limit, slot and interruption are those of trials. A run cut short is no result: its row is tried by the next
  /// sitting.
  [[nodiscard]] db::Expected<RehearsalReport> run(const Options& options);

 private:
  /// Empty: interrupted.
  [[nodiscard]] db::Expected<std::optional<db::RehearsalRecord>> rehearse(const RehearsalRow& row);
  const Sitting& sitting_;
};

}  // namespace nocturne::tuner
