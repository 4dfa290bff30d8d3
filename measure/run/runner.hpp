#pragma once

/// Runs one worker process in its own folder under a supervisor and says what happened.
///
/// Whatever a worker does is data: a space::Run with an outcome and a reason; nothing here throws for a worker's sake.
/// The calling process may be killed at any time: the supervisor (measure/supervisor) then ends the worker.

#include <chrono>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "measure/protocol/request.hpp"
#include "measure/supervisor/memory_policy.hpp"
#include "measure/supervisor/run_folder.hpp"
#include "space/run.hpp"

namespace nocturne::measure {

/// What to run and within which limits.
struct RunPlan {
  std::string id;  ///< unique on this machine (new_run_id()); letters, digits, '-', '_' and '.' only, at most 100
  space::Purpose purpose = space::Purpose::Search;
  std::filesystem::path
      folder;  ///< absolute; made with mode 0700, must not exist or be empty; also the working directory
  std::vector<std::string> argv;  ///< the worker and its arguments; `--request FILE --events FILE` is appended
  std::map<std::string, std::string> environment;  ///< set beside the tuner's own environment
  std::vector<std::string> unset;                  ///< names removed from it
  std::vector<int> cpus;                           ///< affinity of the worker; empty: as the tuner's own
  MemoryPolicy memory{};                           ///< where its pages are put
  protocol::Request request;                       ///< run_id is filled in from `id`
  std::chrono::milliseconds deadline{60'000};      ///< on the time in which the worker may run, not while it is stopped
  std::optional<std::chrono::milliseconds> total_limit;  ///< on all time; empty: none beside the deadline
  std::chrono::milliseconds grace{500};                  ///< time between SIGTERM and SIGKILL
  std::optional<std::int64_t> memory_limit_bytes;        ///< limit for the worker and its descendants together
  std::int64_t log_cap_bytes = 4 << 20;     ///< stdout and stderr kept from the beginning; the last 64 KiB are kept too
  std::int64_t event_cap_bytes = 64 << 20;  ///< more events than this is a protocol error
  /// The worker leaves the run's control group, perhaps by the hand of a daemon (containers): sought by its run id.
  bool apart = false;
  /// Removes its container where it did not end by itself; empty: nothing to remove.
  std::vector<std::string> clean_up;
  std::string owner;     ///< text of the folder's `owner.json`: by whom it may be missed; empty: there is none
  std::string artifact;  ///< copied to the record: key of the build it uses, or empty
};

/// Says what is wrong with a plan, in a sentence; nothing when it can be tried.
[[nodiscard]] std::optional<std::string> problem_of(const RunPlan& plan);

/// What is known of a run while it lasts.
struct RunProgress {
  std::string phase;       ///< phase begun last and not ended; empty: none
  std::int64_t steps = 0;  ///< timed so far, without the first
  std::int64_t samples = 0;
  std::optional<double> loss;  ///< loss of the last sample
  std::chrono::nanoseconds elapsed{};
  std::chrono::nanoseconds deadline{};  ///< the `elapsed` at which its supervisor ends it; 0: not known
};

/// How the caller takes part.
struct RunControl {
  std::stop_token stop;  ///< requested: the worker is killed, the outcome is Killed. Seen within a quarter of a second
  std::function<void(const RunProgress&)> progress;  ///< called in the calling thread, at most four times a second
  std::filesystem::path supervisor;                  ///< the program; empty: find_supervisor()
  std::filesystem::path proc = "/proc";              ///< where the machine's load is read; another place in tests
  bool use_cgroup = true;  ///< false: memory is polled even where a control group could limit it
};

/// Starts the worker, waits for it and reads what it said. Blocks; one run a call; calls from several threads are
/// independent of each other. A plan that cannot be tried gives Outcome::Failed with the reason.
[[nodiscard]] space::Run run(const RunPlan& plan, const RunControl& control = {});

/// A new unique id: time in UTC and 48 random bits, "20260102T030405-0123456789ab".
[[nodiscard]] std::string new_run_id();

/// `nocturne-supervisor` named by the environment variable NOCTURNE_SUPERVISOR_PROGRAM, else beside the running
/// program, else in ../libexec/nocturne seen from there. Empty: none of these exists.
[[nodiscard]] std::filesystem::path find_supervisor();

// The files of a run's private folder.

/// Makes the folder (mode 0700) with the request in it, and the FIFO where the request names one. The error is a
/// sentence.
[[nodiscard]] std::expected<RunFolder, std::string> prepare_folder(const RunPlan& plan);

}  // namespace nocturne::measure
