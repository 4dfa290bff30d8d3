#include "tests/tuner/campaign/simulated_finals.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "measure/comparison/location.hpp"
#include "measure/comparison/planned_looks.hpp"
#include "measure/comparison/race.hpp"
#include "measure/comparison/signed_rank.hpp"
#include "measure/comparison/stopping.hpp"
#include "tuner/campaign/finals/finalists.hpp"
#include "tuner/campaign/noise/noise_plan.hpp"

namespace nocturne::test {
namespace {

constexpr std::size_t kMostFinalists = 4;
constexpr int kSelectionPairs = 4;
constexpr int kFirstLook = 6, kMostPairs = 20;
constexpr int kFirstRankLook = 8;  // six pairs cannot be as sure by their ranks as the first of the looks must be
constexpr double kMarginPercent = 1;
constexpr double kPriorSd = 0.02;        // assumed, of gains: small, so that single processes alone crown nobody
constexpr double kWithinProcess = 0.01;  // relative error of one process's steady step, by the scatter of its steps
constexpr double kRecordedProcessSd =
    0.13;  // sd of `level` in equal_configurations.json: what `nocturne noise` would say

double truth_of(const SimulatedCampaign& campaign, std::size_t configuration) {
  return configuration == 0 ? 0 : configuration == 1 ? campaign.planted : campaign.others;
}

/// As many processes as the trial's fate needs.
space::Estimate measure_alone(double truth, const std::optional<space::Estimate>& incumbent,
                              EqualConfigurations& noise) {
  std::vector<double> values;
  space::Estimate estimate;
  do {
    values.push_back(std::exp(noise.alone() - truth));
    const auto runs = static_cast<double>(values.size());
    double sum = 0, squares = 0;
    for (const double value : values) sum += value;
    for (const double value : values) squares += (value - sum / runs) * (value - sum / runs);
    const double between = values.size() < 2 ? 0 : std::sqrt(squares / (runs - 1) / runs);
    estimate = {.value = sum / runs,
                .standard_error = std::max(between, kWithinProcess * sum / runs),
                .runs = static_cast<int>(values.size())};
  } while (measure::needs_another_run(space::Outcome::Ok, estimate, incumbent,
                                      {.repeats = tuner::kContenderRuns, .process_sd = kRecordedProcessSd})
               .another_run);
  return estimate;
}

db::StoredTrial trial_of(std::size_t configuration, const space::Estimate& estimate) {
  db::StoredTrial trial;
  trial.id = static_cast<std::int64_t>(configuration) + 1;
  trial.trial.number = static_cast<std::int64_t>(configuration);
  trial.trial.outcome = space::Outcome::Ok;
  trial.trial.configuration.set("label", space::Value(static_cast<std::int64_t>(configuration)));
  trial.trial.estimate = estimate;
  trial.trial.parts = space::Parts{.steady_step = estimate.value};
  return trial;
}

void report(SimulatedVerdict& simulated, const measure::Comparison& comparison) {
  simulated.verdict = comparison.verdict;
  simulated.reported = comparison.log_ratio;
  simulated.low = std::log1p(std::max(comparison.low_percent, -99.999) / 100);
  simulated.high = std::log1p(comparison.high_percent / 100);
}

/// Fresh pairs of the winner with the default, at each of the looks, until there is a verdict.
void judge_fresh_pairs(SimulatedVerdict& simulated, std::span<const measure::Look> looks, EqualConfigurations& noise,
                       const std::function<void(std::span<const double>, double confidence)>& judge) {
  std::vector<double> ratios;
  for (const measure::Look& look : looks) {
    while (static_cast<int>(ratios.size()) < look.pairs) ratios.push_back(simulated.truth + noise.pair());
    judge(ratios, look.confidence);
    if (simulated.verdict != measure::Verdict::Undecided) break;
  }
  simulated.processes += 2 * ratios.size();
}

/// The default, whose gain is 0, and all others: single processes shrunk towards the median, as draws from N(0,
/// kPriorSd²) that were measured with kRecordedProcessSd.
std::vector<measure::Entrant> entrants_of(const std::vector<double>& logs) {
  constexpr double kPrior = kPriorSd * kPriorSd, kMeasured = kRecordedProcessSd * kRecordedProcessSd;
  const double level = measure::median(logs);
  std::vector<measure::Entrant> entrants;
  for (const double log : logs)
    entrants.push_back({.gain = (level - log) * kPrior / (kPrior + kMeasured),
                        .error = std::sqrt(kPrior * kMeasured / (kPrior + kMeasured))});
  entrants.front() = {.gain = 0, .error = 1e-6};
  return entrants;
}

}  // namespace

SimulatedVerdict play_campaign(const SimulatedCampaign& campaign, EqualConfigurations& noise) {
  SimulatedVerdict simulated;
  std::vector<db::StoredTrial> trials;
  std::optional<space::Estimate> incumbent;
  for (std::size_t i = 0; i <= campaign.configurations; ++i) {
    const space::Estimate estimate = measure_alone(truth_of(campaign, i), incumbent, noise);
    simulated.processes += static_cast<std::size_t>(estimate.runs);
    if (!incumbent || estimate.value < incumbent->value) incumbent = estimate;
    trials.push_back(trial_of(i, estimate));
  }
  std::vector<std::size_t> finalists = tuner::choose_finalists(trials, kMostFinalists, kRecordedProcessSd);
  const std::size_t champion = finalists.front();
  if (champion == 0) return simulated;  // the default is the best: nothing is reported
  std::erase(finalists, std::size_t{0});

  std::vector<tuner::Contender> contenders(finalists.size(), {.ratios = {}, .changes = 1});
  for (std::size_t i = 1; i < finalists.size(); ++i) {
    const double truth = truth_of(campaign, finalists[i]) - truth_of(campaign, champion);
    for (int pair = 0; pair < kSelectionPairs; ++pair) contenders[i].ratios.push_back(truth + noise.pair());
    simulated.processes += 2 * kSelectionPairs;
  }
  const std::size_t winner = finalists[tuner::choose_winner(contenders, 1)];
  simulated.chose_planted = winner == 1;
  simulated.truth = truth_of(campaign, winner);

  static const auto kLooks = measure::plan_looks(kFirstLook, kMostPairs);
  judge_fresh_pairs(simulated, kLooks, noise, [&](std::span<const double> ratios, double confidence) {
    report(simulated, measure::compare(ratios, {.margin_percent = kMarginPercent, .confidence = confidence}));
  });
  return simulated;
}

SimulatedVerdict play_race(const SimulatedCampaign& campaign, EqualConfigurations& noise) {
  SimulatedVerdict simulated;
  std::vector<double> logs;
  for (std::size_t i = 0; i <= campaign.configurations; ++i) logs.push_back(noise.alone() - truth_of(campaign, i));

  measure::Race race(entrants_of(logs), {}, campaign.seed);
  while (const auto pair = race.next())
    race.tell(truth_of(campaign, pair->first) - truth_of(campaign, pair->second) + noise.pair());
  simulated.processes = logs.size() + 2 * static_cast<std::size_t>(race.pairs());
  const std::size_t winner = race.leader();
  if (winner == 0) return simulated;  // the default is the best: nothing is reported
  simulated.chose_planted = winner == 1;
  simulated.truth = truth_of(campaign, winner);

  static const auto kLooks = measure::plan_looks(kFirstRankLook, kMostPairs);
  judge_fresh_pairs(simulated, kLooks, noise, [&](std::span<const double> ratios, double confidence) {
    const auto interval = measure::signed_rank_interval(ratios, confidence);
    if (!interval) return;
    simulated.reported = interval->middle;
    simulated.low = interval->low;
    simulated.high = interval->high;
    simulated.verdict = measure::verdict_of(interval->low, interval->high, kMarginPercent);
  });
  return simulated;
}

SimulatedVerdict play_repetition(const SimulatedCampaign& campaign, std::size_t repeats, EqualConfigurations& noise) {
  std::vector<std::vector<double>> rounds(campaign.configurations + 1);
  for (std::size_t round = 0; round < repeats; ++round)
    for (std::size_t i = 0; i < rounds.size(); ++i) rounds[i].push_back(noise.alone() - truth_of(campaign, i));
  const auto sum = [](const std::vector<double>& values) {
    double total = 0;
    for (const double value : values) total += value;
    return total;
  };
  const auto smallest = std::ranges::min_element(rounds, {}, sum);
  const auto best = static_cast<std::size_t>(smallest - rounds.begin());
  SimulatedVerdict simulated{
      .truth = truth_of(campaign, best), .processes = repeats * rounds.size(), .chose_planted = best == 1};
  if (best == 0) return simulated;
  std::vector<double> ratios;
  for (std::size_t round = 0; round < repeats; ++round) ratios.push_back(rounds[0][round] - rounds[best][round]);
  report(simulated, measure::compare(ratios));
  if (repeats == 1) simulated.verdict = measure::Verdict::Faster;
  return simulated;
}

}  // namespace nocturne::test
