#pragma once

/// Who watches a campaign, its orders included: the progress on a terminal, a log, a test.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/records.hpp"
#include "measure/comparison/comparison.hpp"
#include "space/trial.hpp"
#include "tuner/executor/order_observer.hpp"

namespace nocturne::tuner {

/// What a start found of a session that was killed, and what it did about it.
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

/// Where the campaign stands.
struct Progress {
  std::int64_t finished = 0, failed = 0;
  std::optional<std::int64_t> wanted;    ///< trials the budget allows; empty: bounded by time or by the space
  std::optional<space::Trial> baseline;  ///< the default
  std::optional<space::Trial> best;
  bool is_new_best = false;            ///< the trial just finished is better than each before it by more than noise
  std::chrono::nanoseconds elapsed{};  ///< time of the search, all sessions together
  std::optional<std::chrono::nanoseconds> left;  ///< until the answer, as forecast
};

struct Opening {
  std::int64_t id = 0;  ///< number of the software stack in the campaign
  std::string campaign;
  std::int64_t generation = 1;
  std::string why_anew{};  ///< why a later generation; empty: that was said before
  bool resumed = false;
  std::int64_t trials_known = 0;  ///< finished in earlier sessions
  Recovery recovery;              ///< what a session that was killed left, and what was done about it
  std::string strategy;
  std::uint64_t seed = 1;
  double epochs = 1;             ///< length of training that a trial's time is computed for
  bool to_target = false;        ///< the time to an accuracy is minimised
  bool times_processes = false;  ///< a trial's time is that of a whole process of a command, not computed
  std::chrono::nanoseconds longest_pair = std::chrono::minutes(10);  ///< longest pair of its finals, start to end
};

class Observer : public OrderObserver {
 public:
  virtual void opened(const Opening& /*opening*/) {}
  virtual void preflight(std::int64_t /*software stack*/, std::int64_t /*software stacks*/,
                         const space::Configuration& /*values*/) {}
  virtual void preflighted(std::int64_t /*software stack*/, std::int64_t /*software stacks*/,
                           const db::PreflightRecord& /*record*/) {}
  virtual void finished(const space::Trial& /*trial*/, bool /*reused*/, const Progress& /*progress*/) {}
  /// The finals may follow; and where they leave time, trials again.
  virtual void search_ended(const std::string& /*sentence*/) {}
  /// Until chosen(), pairs are between finalists.
  virtual void choosing(std::int64_t /*finalists*/) {}
  virtual void chosen(const space::Trial& /*winner*/) {}
  /// Until simplified(), pairs are of the winner and one with fewer changes from the default.
  virtual void simplifying(std::size_t /*changes*/, std::size_t /*fewer*/) {}
  virtual void simplified(bool /*as_fast*/) {}
  /// The pairs that follow are of these two: the user asked.
  virtual void comparing(const space::Trial& /*reference*/, const space::Trial& /*candidate*/) {}
  virtual void training(const std::string& /*who*/, std::int64_t /*epochs*/) {}
  virtual void trained(const std::string& /*who*/, const space::Run& /*run*/) {}
};

/// Several who watch, as one, in their order. What an observer can hear has its line here, too.
class CompositeObserver final : public Observer {
 public:
  /// They outlive it.
  explicit CompositeObserver(std::vector<Observer*> watchers) : watchers_(std::move(watchers)) {}
  void opened(const Opening& opening) override { tell(&Observer::opened, opening); }
  void preflight(std::int64_t stack, std::int64_t stacks, const space::Configuration& values) override {
    tell(&Observer::preflight, stack, stacks, values);
  }
  void preflighted(std::int64_t stack, std::int64_t stacks, const db::PreflightRecord& record) override {
    tell(&Observer::preflighted, stack, stacks, record);
  }
  void waiting_for_slot(const measure::SlotHolder& holder) override { tell(&Observer::waiting_for_slot, holder); }
  void slot_taken(std::chrono::nanoseconds left_out) override { tell(&Observer::slot_taken, left_out); }
  void preparing(std::int64_t number, const space::Configuration& configuration) override {
    tell(&Observer::preparing, number, configuration);
  }
  void installing(const std::string& line) override { tell(&Observer::installing, line); }
  void prepared(std::int64_t number, std::chrono::nanoseconds build_time) override {
    tell(&Observer::prepared, number, build_time);
  }
  void running(std::int64_t number, const space::Configuration& configuration) override {
    tell(&Observer::running, number, configuration);
  }
  void progress(const measure::RunProgress& progress) override { tell(&Observer::progress, progress); }
  void finished(const space::Trial& trial, bool reused, const Progress& progress) override {
    tell(&Observer::finished, trial, reused, progress);
  }
  void search_ended(const std::string& sentence) override { tell(&Observer::search_ended, sentence); }
  void choosing(std::int64_t finalists) override { tell(&Observer::choosing, finalists); }
  void chosen(const space::Trial& winner) override { tell(&Observer::chosen, winner); }
  void simplifying(std::size_t changes, std::size_t fewer) override { tell(&Observer::simplifying, changes, fewer); }
  void simplified(bool as_fast) override { tell(&Observer::simplified, as_fast); }
  void comparing(const space::Trial& reference, const space::Trial& candidate) override {
    tell(&Observer::comparing, reference, candidate);
  }
  void verifying(std::int64_t pairs_done, std::int64_t pairs_wanted) override {
    tell(&Observer::verifying, pairs_done, pairs_wanted);
  }
  void pair_finished(std::int64_t pairs_done, std::int64_t pairs_wanted,
                     const std::optional<measure::Comparison>& so_far) override {
    tell(&Observer::pair_finished, pairs_done, pairs_wanted, so_far);
  }
  void training(const std::string& who, std::int64_t epochs) override { tell(&Observer::training, who, epochs); }
  void trained(const std::string& who, const space::Run& run) override { tell(&Observer::trained, who, run); }
  void note(const std::string& sentence) override { tell(&Observer::note, sentence); }

 private:
  template <typename Heard, typename... Parameters, typename... Values>
  void tell(void (Heard::*what)(Parameters...), const Values&... values) {
    for (Observer* watcher : watchers_) (watcher->*what)(values...);
  }
  std::vector<Observer*> watchers_;
};

}  // namespace nocturne::tuner
