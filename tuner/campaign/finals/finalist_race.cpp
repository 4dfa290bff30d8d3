#include "tuner/campaign/finals/finalist_race.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "tuner/campaign/pacing.hpp"
#include "tuner/executor/pair_driver.hpp"

namespace nocturne::tuner {
namespace {

/// Configurations that fresh pairs have shown to be slower than the default.
std::vector<space::Configuration> shown_slower(const Session& session, const db::StoredTrial& baseline) {
  std::vector<space::Configuration> slower;
  for (const db::StoredComparison& each : session.store.comparisons(session.campaign)) {
    if (each.record.role != kVerifyRole || each.record.baseline != baseline.trial.configuration) continue;
    const auto verdict = std::ranges::find(each.verdicts, true, &db::VerdictRecord::primary);
    if (verdict != each.verdicts.end() && verdict->verdict == to_text(measure::Verdict::Slower))
      slower.push_back(each.record.candidate);
  }
  return slower;
}

bool is_in(const std::vector<space::Configuration>& list, const space::Configuration& one) {
  return std::ranges::find(list, one) != list.end();
}

}  // namespace

bool is_shown_slower(const Session& session, const db::StoredTrial& baseline,
                     const space::Configuration& configuration) {
  return is_in(shown_slower(session, baseline), configuration);
}

void say_another_is_chosen(const Session& session, const db::StoredTrial& winner) {
  session.say(db::Level::Warning,
              fmt::format("trial {} is slower than the default when measured again: what chose it was wrong, and "
                          "another is chosen",
                          winner.trial.number));
}

std::vector<std::optional<Belief>> beliefs_of_rivals(const Session& session, std::span<const db::StoredTrial> trials,
                                                     const db::StoredTrial& baseline) {
  auto beliefs = believed_times(session.spec.space, trials, session.spec.run.trial_sd());
  const auto slower = shown_slower(session, baseline);
  for (std::size_t i = 0; i < trials.size(); ++i)
    if (is_in(slower, trials[i].trial.configuration)) beliefs[i].reset();
  return beliefs;
}

FinalistRace::FinalistRace(const Session& session, std::span<const db::StoredTrial> trials,
                           std::span<const Finalist> finalists, OrderExecutor* nodes, TrainingOf training_of)
    : session_(session), nodes_(nodes), training_of_(std::move(training_of)) {
  for (const Finalist& each : finalists) {
    if (session.interruption.requested()) return;
    auto side = prepared_side(session, trials[each.trial]);
    if (!side) continue;
    finalists_.push_back(each);
    sides_.push_back(*std::move(side));
  }
}

std::optional<std::size_t> FinalistRace::entrant_of(const space::Configuration& configuration) const {
  const auto side = std::ranges::find(sides_, configuration, &ComparedSide::configuration);
  return side == sides_.end() ? std::nullopt : std::optional(static_cast<std::size_t>(side - sides_.begin()));
}

Comparing& FinalistRace::pairs_of(const measure::RacePair& pair) {
  const std::pair key(pair.first, pair.second);
  auto series = series_.find(key);
  if (series == series_.end()) {
    auto opened = Comparing::open(session_, sides_[pair.second], sides_[pair.first], kSelectRole);
    if (training_of_) opened.judge_by(training_of_);
    series = series_.emplace(key, std::move(opened)).first;
  }
  return series->second;
}

std::vector<measure::RaceAnswer> FinalistRace::known_pairs() {
  std::vector<measure::RaceAnswer> known;
  for (const db::StoredComparison& stored : session_.store.comparisons(session_.campaign)) {
    if (stored.record.role != kSelectRole || stored.pairs.empty()) continue;
    const auto first = entrant_of(stored.record.candidate), second = entrant_of(stored.record.baseline);
    if (!first || !second) continue;
    const measure::RacePair pair{.first = *first, .second = *second};
    for (const double ratio : pairs_of(pair).log_ratios()) known.push_back({.pair = pair, .log_ratio = ratio});
  }
  return known;
}

std::chrono::nanoseconds FinalistRace::mean_pair_time() const {
  std::chrono::nanoseconds sum{};
  std::int64_t measured = 0;
  for (const auto& [pair, series] : series_) {
    sum += series.pair_time() * series.measured();
    measured += series.measured();
  }
  return measured > 0 ? sum / measured : sum;
}

std::optional<std::size_t> FinalistRace::run(int most_pairs, const TimeFor& time_for) {
  if (finalists_.empty() || session_.interruption.requested()) return std::nullopt;
  if (finalists_.size() == 1) return finalists_.front().trial;
  const double margin = session_.spec.verify.margin_percent;
  auto race = race_between(finalists_, margin, most_pairs, session_.spec.strategy.seed, known_pairs());
  const bool goes_on = race.next().has_value();
  if (goes_on) session_.observer.choosing(std::ssize(finalists_));
  const auto is_time = [&](const measure::RacePair& pair) {
    const auto pace = [&](std::size_t side) { return pace_of(session_.spec, sides_[side].trial); };
    const auto forecast = forecast_pair(session_.spec.verify, pace(pair.first), pace(pair.second));
    return time_for(std::max(forecast, mean_pair_time()));
  };
  const auto end =
      run_race(race, {.pairs_of = [this](const measure::RacePair& pair) -> PairSeries& { return pairs_of(pair); },
                      .time_for = is_time,
                      .most_pairs = most_pairs,
                      .nodes = nodes_});
  if (end == PairsEnd::Interrupted || session_.interruption.requested()) return std::nullopt;
  const std::size_t winner = winner_of(race, finalists_, margin);
  if (goes_on) session_.observer.chosen(sides_[winner].trial.trial);
  return finalists_[winner].trial;
}

}  // namespace nocturne::tuner
