#pragma once

/// Keeps the heartbeat of a session (heartbeat.hpp) up to date from what an observer hears.

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

#include "tuner/campaign/clock.hpp"
#include "tuner/campaign/heartbeat/heartbeat.hpp"
#include "tuner/campaign/observer.hpp"

namespace nocturne::tuner {

/// Not thread-safe. Writes nothing before a campaign is opened. During a run it writes once in ten seconds: some 50 µs
/// of one CPU each time.
class HeartbeatWriter final : public Observer {
 public:
  /// `clock` outlives it. `campaign_file`: told to those who want to go on.
  HeartbeatWriter(std::filesystem::path database, std::string campaign_file, const Clock& clock);
  HeartbeatWriter(const HeartbeatWriter&) = delete;
  HeartbeatWriter& operator=(const HeartbeatWriter&) = delete;
  /// Ends as an error what end() did not end.
  ~HeartbeatWriter() override;

  /// The session is over: its ending (complete, interrupted, out_of_time, machine_changed, error) and why, a sentence.
  void end(std::string_view ending, const std::string& because);

  void opened(const Opening& opening) override;
  void preflight(std::int64_t stack, std::int64_t stacks, const space::Configuration& values) override;
  void waiting_for_slot(const measure::SlotHolder& holder) override;
  void slot_taken(std::chrono::nanoseconds left_out) override;
  void preparing(std::int64_t number, const space::Configuration& configuration) override;
  void installing(const std::string& line) override;
  void running(std::int64_t number, const space::Configuration& configuration) override;
  void progress(const measure::RunProgress& progress) override;
  void finished(const space::Trial& trial, bool reused, const Progress& progress) override;
  void choosing(std::int64_t finalists) override;
  void chosen(const space::Trial& winner) override;
  void simplifying(std::size_t changes, std::size_t fewer) override;
  void simplified(bool as_fast) override;
  void verifying(std::int64_t pairs_done, std::int64_t pairs_wanted) override;
  void pair_finished(std::int64_t pairs_done, std::int64_t pairs_wanted,
                     const std::optional<measure::Comparison>& so_far) override;
  void training(const std::string& who, std::int64_t epochs) override;

 private:
  static constexpr const char* kWinnerPairs = "the best and the default";
  /// `quiet`: how long it may be until the next word; zero: without a limit.
  void turn_to(std::string_view activity, std::string doing, std::chrono::nanoseconds quiet);
  void write();

  std::filesystem::path database_, file_;
  const Clock& clock_;
  Heartbeat beat_;
  std::chrono::nanoseconds quiet_{};  ///< how long the present activity may stay silent
  std::chrono::nanoseconds quiet_pair_{};
  bool open_ = false;
  std::string pairs_of_ = kWinnerPairs;
  /// What a wait for the slot interrupted.
  std::string activity_before_, doing_before_;
  std::chrono::nanoseconds quiet_before_{};
};

}  // namespace nocturne::tuner
