#pragma once

/// Shows a campaign on standard error: one line that is rewritten on a terminal; in a log a line for each trial, and
/// one a minute where a trial takes longer.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "tuner/campaign/answer/default_settings.hpp"
#include "tuner/campaign/observer.hpp"
#include "tuner/cli/context.hpp"

namespace nocturne::cli {

/// Says again and again how long something takes that says nothing itself, as a build: calls a function in a thread of
/// its own, each `interval`, from start() to stop(). start() and stop() are for one thread.
class Ticker {
 public:
  using Say = std::function<void(std::chrono::nanoseconds since_start)>;

  Ticker() = default;
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;
  ~Ticker() { stop(); }

  /// Stops what went on before.
  void start(std::chrono::nanoseconds interval, Say say);
  /// When it returns, the function is not called any more.
  void stop();

 private:
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

/// Not thread-safe. The context outlives it.
class ProgressDisplay final : public tuner::Observer {
 public:
  using Clock = std::function<std::chrono::system_clock::time_point()>;

  /// `terminal_gone`: becomes true when standard error is a terminal no more; null: it stays.
  /// `defaults`: configurations are shown as their difference from these; empty: from trial 0's.
  /// `clock`: the time of day; tests have their own.
  explicit ProgressDisplay(const Context& context, const std::atomic<bool>* terminal_gone = nullptr,
                           tuner::DefaultSettings defaults = {}, Clock clock = std::chrono::system_clock::now)
      : context_(context),
        terminal_gone_(terminal_gone),
        clock_(std::move(clock)),
        last_line_(clock_()),
        baseline_(std::move(defaults)) {}
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;
  ~ProgressDisplay() override { clear(); }

  void opened(const tuner::Opening& opening) override;
  void preflight(std::int64_t stack, std::int64_t stacks, const space::Configuration& values) override;
  void preflighted(std::int64_t stack, std::int64_t stacks, const db::PreflightRecord& record) override;
  void waiting_for_slot(const measure::SlotHolder& holder) override;
  void slot_taken(std::chrono::nanoseconds left_out) override;
  void preparing(std::int64_t number, const space::Configuration& configuration) override;
  void installing(const std::string& line) override;
  void prepared(std::int64_t number, std::chrono::nanoseconds build_time) override;
  void running(std::int64_t number, const space::Configuration& configuration) override;
  void progress(const measure::RunProgress& progress) override;
  void finished(const space::Trial& trial, bool reused, const tuner::Progress& progress) override;
  void choosing(std::int64_t finalists) override;
  void chosen(const space::Trial& winner) override;
  void simplifying(std::size_t changes, std::size_t fewer) override;
  void simplified(bool as_fast) override;
  void comparing(const space::Trial& reference, const space::Trial& candidate) override;
  void verifying(std::int64_t pairs_done, std::int64_t pairs_wanted) override;
  void pair_finished(std::int64_t pairs_done, std::int64_t pairs_wanted,
                     const std::optional<measure::Comparison>& so_far) override;
  void training(const std::string& who, std::int64_t epochs) override;
  void trained(const std::string& who, const space::Run& run) override;
  void search_ended(const std::string& sentence) override;
  void note(const std::string& sentence) override;

  /// Removes the line that is being rewritten, so that results can follow.
  void clear();

 private:
  void line(const std::string& text);    ///< stays
  void status(const std::string& text);  ///< rewritten by the next one; nothing where there is no terminal
  /// status(), with where the campaign stands before it; in a log once a minute.
  void stand(const std::string& doing);
  void clear_status();
  /// Says again and again for how long that goes on, until something else happens; in a log once a minute, if
  /// `in_log`.
  void show_while(const std::string& what, bool in_log);
  /// That is gone about now, until something else is.
  void begin(std::string what);
  [[nodiscard]] bool on_terminal() const;
  [[nodiscard]] bool colour() const { return context_.colour_err() && on_terminal(); }

  const Context& context_;
  const std::atomic<bool>* terminal_gone_;
  bool status_shown_ = false;
  bool choosing_ = false;   ///< pairs are not those of the best and the default
  bool to_target_ = false;  // the finals are trainings to the target
  bool preflight_shown_ = false;
  std::map<std::string, std::int64_t> reasons_;  ///< reasons of failed trials, and which trial said it first
  bool installing_ = false;                      ///< what is prepared is an environment
  std::string compared_;                         ///< which two trials the user has compared
  std::string doing_, settings_;                 ///< what the present run is for, and with which settings
  Clock clock_;
  std::chrono::system_clock::time_point last_line_;  ///< when one was written that stays

  /// Where the campaign stands.
  struct Standing {
    /// When the forecast was made, what had been spent by then, and what was left: the share goes on meanwhile, but
    /// while another campaign has the machine.
    std::chrono::sys_time<std::chrono::nanoseconds> forecast_at{};
    std::chrono::nanoseconds spent{};
    std::optional<std::chrono::nanoseconds> left{};
    std::string done{};  ///< how many trials, and the best so far

    /// Time of day, share of the budget, what is left of it, what was done: the most urgent first, where a terminal is
    /// narrow.
    [[nodiscard]] std::string text(std::chrono::system_clock::time_point now) const;
  };
  Standing standing_;
  tuner::DefaultSettings baseline_;
  std::mutex writing_;  ///< the ticker's lines and ours
  Ticker ticker_;       ///< the last member: it is stopped before what it uses goes
};

}  // namespace nocturne::cli
