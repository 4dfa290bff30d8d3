#pragma once

/// The tuner's side of the protocol: reads an event file while it grows, or afterwards.
///
/// Believes nothing: what breaks the protocol (measure/protocol/README.md) is kept as an error with its line. A torn
/// last line is normal. Memory is bounded by the cap on the file.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "measure/supervisor/run_folder.hpp"
#include "space/run.hpp"

namespace nocturne::measure {

/// Steps timed by all of them.
[[nodiscard]] std::int64_t count_steps(std::span<const space::Sample> samples);

/// The worker's last word.
struct EndEvent {
  std::string status;  ///< ok, unsupported, diverged, out_of_memory (of a device), failed
  std::string reason;
};

/// The first thing wrong with the events.
struct EventError {
  std::int64_t line = 0;  ///< 1 is the first
  std::string what;
};

/// The line of each sample, epoch and end of a phase, for who finds out later that it cannot be true. A phase that has
/// not ended has the line of its begin.
struct EventLines {
  std::vector<std::int64_t> samples, epochs, phases;
};

/// Everything that the events said so far.
struct Events {
  std::optional<std::string> worker;  ///< as the event `hello` names it
  nlohmann::json ready;               ///< the `ready` event without its name; null before it
  std::vector<space::Phase> phases;   ///< sorted by their begin; see also EventReader::close_phases
  std::vector<space::Sample> samples;
  std::vector<space::Epoch> epochs;
  std::vector<space::CurvePoint> curve;
  std::vector<space::Norm> norms;
  std::optional<space::Accuracy> accuracy;
  std::optional<space::Memory> memory;
  std::optional<space::DeviceReport> device;
  std::optional<EndEvent> end;
  EventLines lines;
  bool first_step_done = false;               ///< its phase has ended
  std::optional<std::int64_t> not_finite_at;  ///< last step of the first sample whose loss is not finite
  std::optional<EventError> error;            ///< reading goes on after it, so that the record holds what it can
  bool torn = false;                          ///< the file ends within a line
  bool overflow = false;                      ///< larger than the cap, or no ordinary file; reading has stopped

  /// The phase begun last and not ended, or empty.
  [[nodiscard]] std::string open_phase() const;
  /// count_steps() of the samples.
  [[nodiscard]] std::int64_t steps() const;
};

/// Not thread-safe. Never throws for the sake of what the file holds. Linear in its length. No time that it hands on is
/// longer than a year, and none of their sums, so that who adds them need not look out.
class EventReader {
 public:
  EventReader(std::string name, std::int64_t cap_bytes) : name_(std::move(name)), cap_bytes_(cap_bytes) {}

  /// Reads what was appended since; true when at least one whole line was. A file that is not there yet is an empty
  /// one; one that is no ordinary file is an error of its first line. `folder` is the same each time.
  bool read(const RunFolder& folder);
  [[nodiscard]] const Events& events() const { return events_; }
  /// Gives unfinished phases the wall time from when their begin was read to `now`: as exact as reading was frequent.
  void close_phases(std::chrono::steady_clock::time_point now);

 private:
  void consume(std::string_view line);
  void accept(const nlohmann::json& event);
  void accept_sample(const nlohmann::json& event);
  void accept_accuracy(const nlohmann::json& event);
  void accept_norms(const nlohmann::json& event);
  void accept_device(const nlohmann::json& event);
  /// Keeps in `ready` which share of the steps' time goes into what, as far as samples say it.
  void add_step_parts(const nlohmann::json& event);
  std::chrono::nanoseconds bounded(const char* key, std::chrono::nanoseconds time);
  void begin_phase(const nlohmann::json& event);
  void end_phase(const nlohmann::json& event);
  void accept_epoch(const nlohmann::json& event);
  void fail(std::string what);

  void take(std::string_view piece);

  std::string name_;
  std::int64_t cap_bytes_;
  OpenFile file_;
  std::int64_t line_ = 0;
  std::int64_t bytes_ = 0;
  std::vector<std::chrono::steady_clock::time_point> phase_seen_;  ///< when the begin of each phase of events_ was read
  std::map<std::string, std::size_t, std::less<>> open_phases_;    ///< name → index in events_.phases
  std::map<std::string, std::int64_t, std::less<>> sums_;          ///< total nanoseconds, by the field's name
  std::string rest_;  ///< the beginning of a line whose end has not arrived
  Events events_;
};

}  // namespace nocturne::measure
