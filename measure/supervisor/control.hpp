#pragma once

/// What tuner and supervisor say to each other over their socket: one JSON object a line.
///
/// Tuner to supervisor: first the spec, then any of {"command": "stop" | "continue" | "kill"}; end of file means that
/// the tuner is gone. Supervisor to tuner: {"stopped": true|false} after each change, and at the end {"result": …}.

#include <sys/types.h>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "measure/supervisor/memory_policy.hpp"
#include "space/run.hpp"

namespace nocturne::measure {

/// What to start and when to end it.
struct SuperviseSpec {
  std::string run_id;
  std::string folder;  ///< working directory; log.txt and result.json are written there
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;
  std::vector<std::string> unset;
  std::vector<int> cpus;
  MemoryPolicy memory;
  std::chrono::milliseconds deadline{60'000};            ///< counts while the worker is not stopped
  std::optional<std::chrono::milliseconds> total_limit;  ///< counts always
  std::chrono::milliseconds grace{500};
  std::optional<std::int64_t> memory_limit_bytes;
  /// The worker runs in a container that leaves our control group, perhaps by the hand of a daemon: its processes are
  /// also sought by the run id in their environment, and memory is polled.
  bool apart = false;
  std::vector<std::string> clean_up;  ///< run when the worker did not end by itself: removes the container
  bool use_cgroup = true;             ///< false: memory is polled even where a control group could limit it
  std::int64_t log_cap_bytes = 4 << 20;
  std::string proc = "/proc";  ///< where the machine's load is read
  /// How long after the grace of a kill the supervisor may take to end what it can; then it is killed itself. It gives
  /// up on a process in uninterruptible sleep after 10 s. Not told to it.
  std::chrono::milliseconds last_resort{15'000};
};

/// How it ended.
struct SuperviseResult {
  std::optional<std::string> start_error;
  std::optional<int> exit_code;
  std::optional<int> signal;
  std::int64_t started_unix_ns = 0;
  std::chrono::nanoseconds wall{};  ///< from fork to the end of the worker itself, stops included
  std::chrono::nanoseconds cpu{};   ///< user and system, of the worker and all descendants that were reaped
  std::int64_t peak_bytes = 0;
  std::string peak_source;  ///< memory.peak (control group), max_rss (largest process), sampled (sum over processes)
  bool timed_out = false;
  bool killed = false;  ///< killed on command, or because the tuner is gone
  std::string killed_reason;
  std::optional<std::string> memory_evidence;
  std::string limited_by;               ///< cgroup, polling, or empty without a memory limit
  std::int64_t log_bytes = 0;           ///< written by the worker, kept or not
  std::vector<pid_t> survivors;         ///< processes that could not be ended (in uninterruptible sleep): normally none
  std::int64_t descendants_killed = 0;  ///< left behind by the worker
  space::Load load;
};

[[nodiscard]] nlohmann::json to_json(const SuperviseSpec& spec);
[[nodiscard]] nlohmann::json to_json(const SuperviseResult& result);
/// Both throw nlohmann::json::exception on a document that the other side cannot have written.
[[nodiscard]] SuperviseSpec spec_from_json(const nlohmann::json& document);
[[nodiscard]] SuperviseResult result_from_json(const nlohmann::json& document);

/// Cuts lines out of a stream socket.
class LineBuffer {
 public:
  void append(const char* data, std::size_t size) { text_.append(data, size); }
  /// The next whole line without its end.
  [[nodiscard]] std::optional<std::string> next();

 private:
  std::string text_;
};

/// Writes the document and a line end, all of it; false when the other side is gone.
bool send_line(int socket, const nlohmann::json& document);

}  // namespace nocturne::measure
