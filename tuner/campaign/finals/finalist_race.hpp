#pragma once

/// Finalists measured against each other, any two of them as a pair (role select), until one of them is the winner or
/// time or pairs are used. What an earlier session measured counts.

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "db/store.hpp"
#include "measure/comparison/race.hpp"
#include "tuner/campaign/finals/comparing.hpp"
#include "tuner/campaign/finals/finalists.hpp"
#include "tuner/campaign/session.hpp"

namespace nocturne::tuner {

/// Winners that are judged by fresh pairs, one after the other: the next one where these show the one before to be
/// slower than the default.
inline constexpr int kMostWinners = 3;
/// Whether such pairs have shown that of this configuration.
[[nodiscard]] bool is_shown_slower(const Session& session, const db::StoredTrial& baseline,
                                   const space::Configuration& configuration);
/// Says it of this winner, and that another is chosen.
void say_another_is_chosen(const Session& session, const db::StoredTrial& winner);

/// What these trials take (beliefs.hpp); empty, too: fresh pairs have shown it to be slower than the default.
[[nodiscard]] std::vector<std::optional<Belief>> beliefs_of_rivals(const Session& session,
                                                                   std::span<const db::StoredTrial> trials,
                                                                   const db::StoredTrial& baseline);

/// Not thread-safe. One instance for one choice.
class FinalistRace {
 public:
  /// Whether a pair that takes so long may be begun: as forecast for these two, or the mean of those measured so far,
  /// where that is longer.
  using TimeFor = std::function<bool(std::chrono::nanoseconds pair)>;

  /// Prepares the finalists; one that cannot be prepared takes no part. Session and trials outlive it. `nodes`:
  /// measures the pairs, as in PairsControl. `training_of`: as in Comparing::judge_by(); empty: pairs are judged as
  /// they are. Throws as prepared_side() does.
  FinalistRace(const Session& session, std::span<const db::StoredTrial> trials, std::span<const Finalist> finalists,
               OrderExecutor* nodes = nullptr, TrainingOf training_of = {});

  /// The winner's place among the trials. Empty: interrupted, or nobody could be prepared. Blocks.
  [[nodiscard]] std::optional<std::size_t> run(int most_pairs, const TimeFor& time_for);

 private:
  /// Those of earlier sessions, and of an earlier choice in this one.
  [[nodiscard]] std::vector<measure::RaceAnswer> known_pairs();
  /// As measure::RacePair has it: the first is the candidate.
  [[nodiscard]] Comparing& pairs_of(const measure::RacePair& pair);
  [[nodiscard]] std::optional<std::size_t> entrant_of(const space::Configuration& configuration) const;
  [[nodiscard]] std::chrono::nanoseconds mean_pair_time() const;

  const Session& session_;
  OrderExecutor* nodes_;
  TrainingOf training_of_;
  std::vector<Finalist> finalists_;  ///< who takes part
  std::vector<ComparedSide> sides_;  ///< of each
  std::map<std::pair<std::size_t, std::size_t>, Comparing> series_;
};

}  // namespace nocturne::tuner
