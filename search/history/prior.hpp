#pragma once

/// What finished campaigns say before the first trial of this one, and for how long they are believed.
///
/// Same machine and workload: their trials are told to the models as evidence (LinearModel::tell_past): the same
/// measurement, but for a common offset, as the machine may be some percent slower today. They are no incumbents: what
/// is to be improved on, and what is reported, was measured in this campaign. ranking.hpp tests whether they hold;
/// where they do not, the models forget them all, and the user is told.
///
/// Another machine or workload: an order (ranking.hpp), which is a feature of the models and suggests where to begin.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "search/candidates.hpp"
#include "search/history/past_trials.hpp"
#include "search/history/ranking.hpp"
#include "search/model/feasibility.hpp"
#include "search/model/linear_model.hpp"
#include "search/registry.hpp"
#include "space/lattice.hpp"

namespace nocturne::search::history {

/// A point that the past would begin with.
struct Suggestion {
  std::vector<space::Level> point;
  std::string reason;
};

/// Not thread-safe. Deterministic: same history, same trials, same answers. The lattice must outlive it.
class Prior {
 public:
  static constexpr std::size_t kMostSame = 128;  ///< trials of this machine and workload that are told
  static constexpr std::size_t kMostRanks = 4;   ///< campaigns that rank, the first ones
  static constexpr std::size_t kStart = 3;       ///< proposals before the model takes over, as long as the past speaks
  /// Trials of this campaign before it predicts by itself: those of a start, whose last ones are corners, which
  /// ordinary points predict badly with an order and without.
  static constexpr std::size_t kAlone = 6;
  static constexpr std::size_t kPromising = 16;  ///< past points that are always candidates
  static constexpr double kAlphaSame = 0.01;     ///< trials of this machine are worth much: forgotten when sure
  static constexpr double kAllowance = 0.2;      ///< so that a past that holds is not worn down by small misfits
  static constexpr std::size_t kRankFor = 30;    ///< trials, then an order from elsewhere has said what it can
  static constexpr double kAlphaRank = 0.1;      ///< an order is worth most at the start: given up early
  /// Trials that worked here, then earlier ones are no more among those that carry a model.
  static constexpr std::size_t kOutgrown = model::LinearModelOptions{}.trials;

  /// `knee`, `covariates`: of the search's own model.
  Prior(space::Lattice& lattice, const Options& options, double knee, std::vector<model::Feature> covariates = {});
  Prior(const Prior&) = delete;  // features refer to it
  Prior& operator=(const Prior&) = delete;

  /// The orders of other campaigns, for the search's own model beside its covariates; valid as long as this.
  [[nodiscard]] std::vector<model::Feature> features() const;
  /// Whether trials of this machine and workload are believed.
  [[nodiscard]] bool holds() const { return holds_; }
  /// Whether campaigns that rank are features of the model.
  [[nodiscard]] bool ranks() const { return !rankings_.empty() && ranks_given_up_.empty(); }

  /// Tells what the past measured.
  void teach(model::LinearModel& times, model::Feasibility& feasibility) const;
  /// Whether there is anything to compare with.
  [[nodiscard]] bool speaks() const { return holds_ || ranks(); }
  /// Compares a measurement of now with what was predicted of it. Before `times` is told it; nothing is pending there.
  void compare(space::Point point, double log_value, model::LinearModel& times);
  /// A past point failed now, or works no more: it says nothing from now on.
  void failed(space::Point point);
  /// After it was told: moves the past by the offset, or gives up what does not hold any more, or has nothing more to
  /// say. Then `times` is told anew, without.
  void settle(model::LinearModel& times);

  /// Number `number` of what a search begins with, best candidates of the past among `pool` and near it. Empty: nothing
  /// to say, spread instead.
  [[nodiscard]] std::optional<Suggestion> suggest(std::size_t number, const space::PointList& pool,
                                                  const PointSet& taken);
  /// Past points that may well be the best, the most promising first. Empty where the past does not hold.
  [[nodiscard]] const space::PointList& promising() const { return promising_; }

  /// Past trials as they are believed now, and not measured anew: times moved by the offset. Empty where they do not
  /// hold.
  [[nodiscard]] std::vector<PastTrial> believed() const;
  /// Changes whenever believed() changes in more than what was measured anew.
  [[nodiscard]] std::size_t revision() const { return revision_; }
  /// All past trials that were understood, believed or not.
  [[nodiscard]] const std::vector<PastTrial>& past() const { return past_; }

  // For reports.
  [[nodiscard]] const Agreement& agreement() const { return agreement_; }
  [[nodiscard]] const Offset& offset() const { return offset_; }
  /// A sentence: why the past is not believed any more. Empty: it is, or there is none.
  [[nodiscard]] const std::string& given_up() const { return given_up_; }
  /// A sentence: why the order of other campaigns is not used any more. Empty: it is, or there is none.
  [[nodiscard]] const std::string& ranks_given_up() const { return ranks_given_up_; }
  [[nodiscard]] std::span<const std::unique_ptr<Ranking>> rankings() const { return rankings_; }

 private:
  void learn_from_the_past();
  /// Densities of a value, per log unit: for a configuration like any other, and as this campaign alone predicts it.
  [[nodiscard]] double density_like_any(double log_value) const;
  [[nodiscard]] double density_alone(space::Point point, double log_value);
  void renew_offset();
  void give_up(std::string sentence);
  void give_up_ranks(model::LinearModel& times);
  [[nodiscard]] bool suggestions_lead() const;
  /// The mean of all orders: what is fast on every one of several machines is more likely to be so on the next.
  [[nodiscard]] double mean_rank(space::Point point);
  [[nodiscard]] std::optional<Suggestion> suggest_ranked(const space::PointList& pool, const PointSet& taken);

  space::Lattice& lattice_;
  std::function<void(const std::string&)> note_;
  std::vector<PastTrial> past_;
  std::vector<std::unique_ptr<Ranking>> rankings_;

  double knee_;
  std::vector<model::Feature> covariates_;
  bool holds_ = false;
  model::LinearModel then_;         // the past alone
  model::LinearModel alone_;        // this campaign alone
  std::size_t fitted_ = 0;          // trials in alone_ when its scales were last chosen
  double centre_ = 0, spread_ = 1;  // of the past's log values
  space::PointList promising_;
  std::unordered_map<std::uint64_t, std::size_t> past_of_;  // by hash of the point
  std::unordered_map<std::uint64_t, double> now_;  // log values measured in this campaign, by hash of the point
  Agreement agreement_{kAlphaSame, kAllowance};
  Agreement rank_agreement_{kAlphaRank};
  Offset offset_;
  double applied_ = 0;  // offset of what the models were told
  std::size_t revision_ = 0;
  std::string given_up_, ranks_given_up_;
  std::vector<std::vector<space::Level>> suggested_;  // by rank
};

}  // namespace nocturne::search::history
