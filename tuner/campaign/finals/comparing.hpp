#pragma once

/// Two configurations of a campaign in pairs of fresh processes that are alive together: measured, stored, judged. What
/// an earlier session measured counts.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "db/store.hpp"
#include "measure/comparison/noise.hpp"
#include "measure/run/launch.hpp"
#include "space/configuration.hpp"
#include "tuner/campaign/finals/stored_pairs.hpp"
#include "tuner/campaign/session.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/executor/order.hpp"
#include "tuner/executor/pair_driver.hpp"

namespace nocturne::tuner {

// How two configurations are measured against each other: as the campaign wants it, or, where they cannot, by the next
// best way. Pure.

/// What decides it, of one side.
struct PairedSide {
  const space::Configuration& configuration;
  const measure::LaunchSettings& launch;
  std::optional<std::int64_t> peak_bytes{};           ///< peak memory of a process; empty: not known
  bool contained = false;                             ///< it runs in a container
  std::optional<std::int64_t> device_bytes{};         ///< GPU memory of a process; empty: it uses none
  std::optional<std::int64_t> device_memory_bytes{};  ///< what the GPU has; empty: not known
};

/// Why these two cannot share the machine, in a clause; empty: they can. Each must say that it uses at most half of the
/// `cpus` (parameter `threads`) and leave open which ones; they cannot compute on one GPU at a time; together they must
/// stay below `memory_bytes` (0: no limit).
[[nodiscard]] std::string no_duet_because(const PairedSide& a, const PairedSide& b, std::size_t cpus,
                                          std::int64_t memory_bytes);

/// Why both cannot be alive together, in a clause; empty: they can, as far as is known. Of a GPU's memory a tenth is
/// left to what each process has there beside its tensors, which no worker counts.
[[nodiscard]] std::string not_together_because(const PairedSide& a, const PairedSide& b, std::int64_t memory_bytes);

struct PairMethodChoice {
  measure::PairMethod method = measure::PairMethod::Slices;
  measure::StepEstimator estimator = measure::StepEstimator::Paired;
  std::string instead{};  ///< why not as the campaign wants it, and what that costs, in a clause; empty: it is so
};

/// `verify.method` where these two allow it. A duet that cannot be becomes slices, slices (or a duet) that do not fit
/// into the memory become sequential; judged as the noise of the machine says it is best (verify.known_costs).
[[nodiscard]] PairMethodChoice choose_pair_method(const VerifySettings& verify, const PairedSide& a,
                                                  const PairedSide& b, std::size_t cpus, std::int64_t memory_bytes);

/// What a comparison is for (db::ComparisonRecord::role).
inline constexpr const char* kSearchRole = "search";      ///< its pairs are a trial's runs (paired_trials.hpp)
inline constexpr const char* kSelectRole = "select";      ///< its pairs choose the winner
inline constexpr const char* kSimplifyRole = "simplify";  ///< the winner against one with fewer changes
inline constexpr const char* kVerifyRole = "verify";      ///< its pairs are reported, and chose nothing
inline constexpr const char* kCompareRole = "compare";    ///< the user asked (side_by_side.hpp)
inline constexpr const char* kBlameRole = "blame";        ///< the same configuration, by programs of then and now

/// One side, ready to be started.
struct ComparedSide {
  db::StoredTrial trial;  ///< to which its runs belong, and by whose configuration it is known
  space::Configuration
      configuration;  ///< as its worker is told: the trial's, where nothing else distinguishes the sides
  PreparedWorker prepared;
};

/// Of a trial, as its configuration says. Empty: it cannot be prepared any more (told to the observer). Throws
/// db::Error where a disk is too full to prepare it.
[[nodiscard]] std::optional<ComparedSide> prepared_side(const Session& session, const db::StoredTrial& trial);

/// Parts of the training by which a configuration is judged, from those that a pair measured.
using TrainingOf = std::function<space::Parts(const space::Configuration&, const space::Parts&)>;

class Comparing final : public PairSeries {
 public:
  /// The session outlives this. Empty: one of both cannot be prepared any more; throws as prepared_side() does.
  [[nodiscard]] static std::optional<Comparing> open(const Session& session, const db::StoredTrial& baseline,
                                                     const db::StoredTrial& candidate, std::string role);
  /// Compares sides that are prepared.
  [[nodiscard]] static Comparing open(const Session& session, ComparedSide baseline, ComparedSide candidate,
                                      std::string role);

  /// Before any pair is looked at: sides are judged by that, not by what was measured as it is.
  void judge_by(TrainingOf training_of) { training_of_ = std::move(training_of); }
  [[nodiscard]] const Session& session() const { return *session_; }
  /// Complete pairs that are stored.
  [[nodiscard]] std::int64_t pairs() const { return pairs_; }
  /// Of these, by this object.
  [[nodiscard]] std::int64_t measured() const { return measured_; }
  [[nodiscard]] std::chrono::nanoseconds pair_time() const override;
  /// All of them, condensed. What is new since the last call is read: there may be hundreds.
  [[nodiscard]] const StoredPairs& judged_pairs() const;

  [[nodiscard]] PairEnd measure_pair() override;
  [[nodiscard]] PairOrder next_order(bool candidate_first) override;
  [[nodiscard]] PairEnd take(PairOnNode ended) override;
  /// At the primary horizon.
  [[nodiscard]] std::vector<double> log_ratios() const override;
  [[nodiscard]] std::vector<std::string> nodes() const override { return judged_pairs().nodes; }
  /// At each horizon of the objective.
  void save_verdicts(double confidence) const override;
  [[nodiscard]] bool interrupted() const override {
    return session_->interruption.requested() || session_->interruption.out_of_time();
  }
  [[nodiscard]] OrderObserver& observer() const override { return session_->observer; }

 private:
  Comparing(const Session& session, ComparedSide baseline, ComparedSide candidate);
  /// How the pairs of a comparison that begins now are measured; said to the observer where not as the campaign wants.
  [[nodiscard]] PairMethodChoice choose_method() const;
  [[nodiscard]] PairOrder order_of(std::int64_t index) const;
  /// A pair that was ordered, and when.
  struct Ordered {
    PairOrder order;
    std::chrono::steady_clock::time_point at;
  };
  /// What came of it; stores it.
  [[nodiscard]] PairEnd store(PairAnswer answer, const Ordered& ordered);
  /// Whether a pair that is not complete is to be measured in another way, as a command needs it; the sentence that
  /// says so.
  [[nodiscard]] std::optional<std::string> adapt(const PairOrder& order, const PairAnswer& answer);
  /// Whether processes of the user's own command have turns.
  [[nodiscard]] bool takes_turns() const;

  const Session* session_;
  ComparedSide baseline_, candidate_;
  measure::PairMethod method_ = measure::PairMethod::Slices;
  measure::StepEstimator estimator_ = measure::StepEstimator::Paired;
  db::ComparisonId id_ = 0;
  std::int64_t pairs_ = 0, next_index_ = 0;
  std::set<std::int64_t> passed_over_;  ///< indices below it that no order had: of the side that was not to be first
  std::map<std::int64_t, Ordered> ordered_;  ///< pairs under way on nodes, by index
  std::int64_t measured_ = 0;
  std::chrono::nanoseconds spent_{};
  TrainingOf training_of_;
  mutable StoredPairs judged_;           ///< remembers what was read
  mutable std::set<std::int64_t> read_;  ///< indices of the stored pairs that it holds
};

[[nodiscard]] std::vector<PairSeries*> pointers_to(std::vector<Comparing>& comparisons);

}  // namespace nocturne::tuner
