#pragma once

/// Before dark: every software stack is prepared and trained three steps, the largest batch first, while the engineer
/// is still there to see what will not go.

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "space/space.hpp"
#include "tuner/campaign/session.hpp"

namespace nocturne::tuner {

// What a preflight has to try: the software stacks of a space, and the configurations in which each is tried. Pure.

/// A set of values of the environment and build parameters that some valid configuration has.
struct PreflightStack {
  space::Configuration values;
  /// The default with these values, its batch as large as the space allows, then smaller ones; at least one. Where a
  /// batch range is long, each is at most half of the one before.
  std::vector<space::Configuration> ladder;
};

struct PreflightStacks {
  /// The default's first, then those in which values occur for the first time.
  std::vector<PreflightStack> stacks;
  std::string left_out;  ///< a sentence; empty: these are all
};

inline constexpr std::size_t kMostPreflightStacks = 64;

/// All software stacks; where there are more than `most`, some in which each value of each environment and build
/// parameter occurs. A software stack that only a combination of later parameters makes valid, that neither the
/// default's values nor those of a thousand drawn configurations are, is missed.
[[nodiscard]] PreflightStacks preflight_stacks(const space::Space& space, std::size_t most = kMostPreflightStacks);

inline constexpr std::int64_t kPreflightSteps = 3;

/// How a preflight came out; each software stack's own result stands in the database.
struct PreflightReport {
  std::size_t stacks = 0;         ///< that are known now, those of earlier sessions included
  std::size_t failed_stacks = 0;  ///< how many of them failed
  std::size_t not_tried = 0;      ///< for want of time
  bool default_goes = true;       ///< false: the default's own software stack failed
  bool interrupted = false;
  std::string left_out;  ///< a sentence about the part of the space that is left out; or empty
};

/// "The preflight: 11 of 12 software stacks passed, 1 failed".
[[nodiscard]] std::string to_text(const PreflightReport& report);

class Preflight {
 public:
  struct Options {
    bool again = false;                             ///< software stacks that failed before are tried again
    std::optional<std::chrono::nanoseconds> limit;  ///< no further software stack is begun after this time
  };

  explicit Preflight(const Session& session) : session_(session) {}

  /// Tries the software stacks that were not tried in this generation of the campaign, and keeps what comes out.
  /// Deadline, memory limit, slot and interruption are those of trials. A run cut short is no result: its software
  /// stack is tried by the next session.
  [[nodiscard]] PreflightReport run(const Options& options);

 private:
  const Session& session_;
};

}  // namespace nocturne::tuner
