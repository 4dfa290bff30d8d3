#pragma once

/// What the linear model makes of a stored campaign: fitted anew from the database, whatever strategy asked.

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "db/store.hpp"
#include "search/model/value_of_continuing.hpp"
#include "search/pruned_search.hpp"
#include "space/objective.hpp"
#include "space/space.hpp"

namespace nocturne::tuner {

/// Not copied nor moved: the search refers to the space.
struct LearnedCampaign {
  explicit LearnedCampaign(space::Space known) : space(std::move(known)) {}
  LearnedCampaign(const LearnedCampaign&) = delete;
  LearnedCampaign& operator=(const LearnedCampaign&) = delete;

  std::string campaign{};  ///< its name
  space::Space space;
  std::vector<std::string> without{};  ///< sentences: constraints that are not in force (stored_document.hpp)
  space::Objective objective{};
  std::string history{};  ///< what it knew when it began, a sentence; empty: nothing
  std::unique_ptr<search::PrunedSearch> search{};
  std::vector<space::Trial> trials{};  ///< as believed now, by number
  std::unordered_map<std::uint64_t, std::size_t>
      trial_at{};                      ///< by space::hash_of() of its point, the first one's index
  std::vector<db::AskAnswer> asked{};  ///< by number
  std::vector<db::StoredComparison> comparisons{};
  double seconds_per_trial = 0;  ///< mean over the last trials that were run; 0: not known
  double process_sd = 0;         ///< log units, of equal processes, as `noise` measured it; 0: it did not

  /// Fitted for reports: the search's own model resolves only the fastest in full, and would understate effects. It
  /// heeds the pairs, too: where they contradict two trials, its values of these lie between.
  std::unique_ptr<search::model::LinearModel> report{};

  [[nodiscard]] search::model::LinearModel& times() const { return *report; }
  /// Null: none has this configuration.
  [[nodiscard]] const space::Trial* trial_of(space::Point point) const;
  [[nodiscard]] space::Lattice& lattice() const { return search->models().lattice(); }
};

/// Fewer trials than this that worked say nothing about effects.
inline constexpr std::size_t kFewestForModel = 5;
/// Configurations drawn to see which share of them is pruned.
inline constexpr std::size_t kPrunedDraws = 2000;

/// The error is a sentence: too few trials, or a space that cannot be read.
[[nodiscard]] std::expected<std::unique_ptr<LearnedCampaign>, std::string> learn_from(
    const db::Store& store, const db::CampaignSummary& campaign);

/// Between-process sd of ln, from pairs of equal processes that ran one after the other, on the machine as the campaign
/// found it; 0: they were not measured.
[[nodiscard]] double process_sd_of(const db::Store& store, const db::CampaignSummary& campaign);

/// What another `time` of searching is expected to gain. Empty: how long a trial takes is not known.
struct ValueOfContinuing {
  std::chrono::seconds time{};
  search::model::ExpectedGain expected_gain{};
};
[[nodiscard]] std::optional<ValueOfContinuing> continuing(LearnedCampaign& learned, std::chrono::seconds time);

/// "another hour: +0.4 % speed by the forecast of the search, which is no interval": its model is made to choose what
/// to measure, and 95 % intervals made from it held only 53 to 100 % of what a search then found
/// (tests/search/value_of_continuing_survey_test.cpp), so none is given.
[[nodiscard]] std::string to_text(const ValueOfContinuing& continuing);

}  // namespace nocturne::tuner
