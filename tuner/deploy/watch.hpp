#pragma once

/// Runs a plan as a child of this process and compares its first steps with what the profile expects: `apply --watch`.
///
/// Steps come as events (measure/protocol) into a folder: of a worker of ours by itself, of a script by the module in
/// front of it. They are looked at in windows. A slow window is followed by another one, for the first holds whatever a
/// start disturbs; the second is the finding. With fall_back it is ended where it is slower than the default as well,
/// and nothing explains that which would slow the default too; as long as something does, the next window is looked
/// at, up to `windows`.
///
/// The child is in this process's group, so that a terminal's signals reach both; those sent to this process alone are
/// handed on. If this process is killed, the child is.

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tuner/deploy/apply.hpp"
#include "tuner/deploy/canary.hpp"

namespace nocturne::deploy {

struct WatchedJob {
  ApplyPlan plan;
  CanaryLimits limits;
  std::filesystem::path folder;  ///< events.jsonl comes here
  bool private_folder = false;  ///< of the watch alone: removed when nothing is looked at any more, by which a script's
                                ///< module knows
};

struct WatchSettings {
  bool fall_back = false;
  std::chrono::milliseconds window{10'000};  ///< at least so long, and kFewestSamples samples
  int windows = 6;
  std::chrono::milliseconds grace{5'000};  ///< from SIGTERM to SIGKILL
  std::filesystem::path proc = "/proc";    ///< where load is read; another folder in tests
  std::filesystem::path cpus = "/sys/devices/system/cpu";
};
inline constexpr std::size_t kFewestSamples = 10;

/// A window that is worth looking at: ten seconds, less where a quarter of an epoch is shorter, two at least.
[[nodiscard]] std::chrono::milliseconds window_for(const Profile& profile);

struct WatchEnd {
  int status = 0;                         ///< of wait(2)
  bool fell_back = false;                 ///< it was ended: the default is to be started
  std::optional<ExecuteFailure> failure;  ///< it never ran
};

/// `seen` hears of the finding; where it is a fall-back, before the job is ended. Blocks until the job has ended. Not
/// thread-safe: signals of the process are blocked meanwhile.
[[nodiscard]] WatchEnd watch(const WatchedJob& job, const WatchSettings& settings,
                             const std::function<void(const Canary&, bool falls_back)>& seen);

/// Ends this process as the job ended: returns the exit status, or dies of the same signal.
[[nodiscard]] int end_as(int status);

}  // namespace nocturne::deploy
