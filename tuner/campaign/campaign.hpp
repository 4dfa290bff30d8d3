#pragma once

/// The loop: ask, submit, store, tell; then the finals, and again while there is time. Proposals come from a list of
/// sources (proposal_sources.hpp), go through one queue (scheduler.hpp) to an executor (executor/order.hpp), and are
/// told in the order in which they finish. The database is the only memory: asks and tells are stored as they happen,
/// so a campaign that was killed at any moment is opened again and is the same campaign, with one slot or with many.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/store.hpp"
#include "measure/run/sweep.hpp"
#include "search/strategy.hpp"
#include "tuner/campaign/curves/learning_curves.hpp"
#include "tuner/campaign/disturbed_default.hpp"
#include "tuner/campaign/node_effects.hpp"
#include "tuner/campaign/paired_trials.hpp"
#include "tuner/campaign/preflight/preflight.hpp"
#include "tuner/campaign/preparation.hpp"
#include "tuner/campaign/proposal_sources.hpp"
#include "tuner/campaign/scheduler.hpp"
#include "tuner/campaign/search_state.hpp"
#include "tuner/campaign/session.hpp"
#include "tuner/executor/order.hpp"

namespace nocturne::tuner {

/// How a session ended.
enum class Ending {
  Complete,        ///< budget used or nothing left to propose; best and default measured again
  AlreadyDone,     ///< an earlier session had completed this very campaign: nothing was done
  Interrupted,     ///< by the user or the system; the next session goes on
  OutOfTime,       ///< the time was over while something was installed or built: that was cut; the next one goes on
  PreflightOnly,   ///< only the preflight was wanted
  MachineChanged,  ///< a field of the fingerprint that must match changed meanwhile: open again, as a new generation
};

struct SessionResult {
  Ending ending = Ending::Complete;
  std::string because{};  ///< why the search ended, one sentence
  db::CampaignId campaign = 0;
  std::optional<PreflightReport> preflight{};  ///< where one was made
};

/// How a search ended: Complete when the budget is used or nothing is left, else why it stopped.
struct SearchEnd {
  Ending ending = Ending::Complete;
  std::string because{};
};

class Campaign {
 public:
  /// The session begins now; its campaign id is set by run(). `fresh`: measure again whatever is known. `executor`:
  /// runs the trials; null: this process does, in one slot. Both outlive the campaign.
  Campaign(Session& session, bool fresh, OrderExecutor* executor = nullptr);
  Campaign(const Campaign&) = delete;  // its parts know each other
  Campaign& operator=(const Campaign&) = delete;

  /// Opens or resumes, searches, measures the best again. Blocks. `swept`: what was cleared away before, to be told.
  [[nodiscard]] SessionResult run(const measure::SweepReport& swept = {});

 private:
  /// Where the machine changed, whether results from before hold. Set: interrupted, the session ends with it.
  [[nodiscard]] std::optional<SessionResult> verify_changes();
  /// Opens the campaign and replays what was asked and told.
  void open(const measure::SweepReport& swept);
  /// Tries the software stacks, where that is wanted. The search follows where it ends as Complete.
  [[nodiscard]] SessionResult preflight();
  [[nodiscard]] SearchEnd search();
  /// What a trial is compared with while it is measured; empty: with nothing.
  [[nodiscard]] std::optional<space::Estimate> incumbent() const;
  /// Gives orders until all slots are busy. Set: none may be given any more, and why.
  [[nodiscard]] std::optional<SearchEnd> fill_slots();
  /// Why no order may be given now, whatever there is to do.
  [[nodiscard]] std::optional<SearchEnd> must_stop();
  /// Asks the sources, and stores what they ask for. Set: they have nothing now, and why.
  [[nodiscard]] std::optional<std::string> propose();
  void ask(Asking asking);
  /// Waits for an order to end and tells its result; how it ended.
  [[nodiscard]] TrialAnswer::End settle_next();
  /// Stores a result and tells it. `took`: since its order was given; empty: there was none, nothing was run.
  void settle(TrialAnswer answer, std::optional<std::chrono::nanoseconds> took);
  /// What the nodes differ by, from the default on each of them; stored with the default's own trial.
  void learn_nodes();
  /// A trial that is wanted beside the search, by `source`; one that is known is not measured again. Empty:
  /// interrupted.
  [[nodiscard]] std::optional<db::StoredTrial> measure_now(const char* source,
                                                           const space::Configuration& configuration,
                                                           const std::string& reason);
  /// Where the time to an accuracy is minimised: draws the learning curves, after the default's trial. Interrupted:
  /// says so in the result.
  void draw_curves(SessionResult& result);
  /// Gives the next of the queue to a free slot. `limit`: of a run of it. REQUIRES: there are both.
  void submit_next(std::optional<std::chrono::nanoseconds> limit = {});
  /// Tells the strategy what is judged otherwise now.
  void tell_again(const std::vector<space::Trial>& changed);
  /// Judges all trials by what the curves say now, where that changes them; stores and tells them again.
  void recompose();
  /// Searches and measures the best again; what the finals leave of the time goes back to the search, and the best is
  /// measured again where it is another one. Completes the result.
  void search_and_verify(SessionResult& result);
  /// Says and logs that the search ended.
  void announce_end(const SessionResult& result);
  /// Measures the best again. Cut short: says so in the result.
  void verify_best(SessionResult& result);
  /// How it ends where an order or a part of it was cut short, `when` (" in the preflight"): by an interruption, or as
  /// the time was over while something was installed or built.
  [[nodiscard]] SearchEnd cut_short(std::string_view when) const;
  /// Likewise of the session.
  void was_cut_short(SessionResult& result, std::string_view when) const;
  /// What is installed or built from now on is cut after this time; empty: it is not.
  void prepare_within(std::optional<std::chrono::nanoseconds> time);
  /// Runs finals, which do only what is missing, again after each suspension. Whether they are complete.
  template <typename AnyFinals>
  [[nodiscard]] bool run_past_suspensions(AnyFinals& finals);
  /// In pairs, and in trainings to the target. Whether it is complete.
  [[nodiscard]] bool race_best(const std::optional<TimeFrame>& time);
  [[nodiscard]] bool train_best(const std::optional<TimeFrame>& time);

  Session& session_;
  OrderExecutor* executor_;  ///< null: this process carries its orders out
  bool fresh_;
  bool set_aside_ = false;  ///< what the campaign measured before does not hold any more
  LocalSlot local_;
  SessionLog log_;
  SearchState state_;
  std::optional<LearningCurves> curves_;  ///< once open, where the time to an accuracy is minimised
  PairedTrials paired_;
  DisturbedDefault disturbed_;
  Scheduler scheduler_;
  NodeEffects nodes_;
  std::vector<DefaultOnNode> defaults_;      ///< measured while the default's own trial was not told
  std::shared_ptr<PreparationCosts> costs_;  ///< null: preparation is no matter
  std::unique_ptr<search::Strategy> strategy_;
  std::vector<db::PreflightRecord> failed_stacks_;  ///< in the preflight
  std::vector<std::unique_ptr<ProposalSource>> sources_;
};

}  // namespace nocturne::tuner
