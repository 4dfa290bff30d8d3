#include "tests/tuner/campaign/simulated_finals.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "measure/comparison/planned_looks.hpp"
#include "tuner/campaign/finals/beliefs.hpp"
#include "tuner/campaign/finals/finalists.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::test {
namespace {

constexpr std::size_t kSwitches = 7;
constexpr double kWithinProcess = 0.01;  // relative error of one process's steady step, by the scatter of its steps

space::Space space_of(const std::string& parameters) {
  auto spec = tuner::parse_campaign(R"({"campaign": "simulated", "workload": {"network": "mnist_cnn"},
    "objective": {"minimise": "time", "epochs": [1]}, "worker": {"command": ["/bin/true"]}, "space": {"parameters": [)" +
                                        parameters + "]}}",
                                    "simulated.json", "/", space::Facts());
  if (!spec) throw std::logic_error(tuner::to_text(spec.error()));
  return std::move(spec->space);
}

std::string switch_name(std::size_t number) {
  return fmt::format("switch{}", number);
}

const space::Space& space_of(const SimulatedCampaign& campaign) {
  static const space::Space kStructured = [] {
    std::string parameters;
    for (std::size_t i = 0; i < kSwitches; ++i) {
      parameters += fmt::format(R"({}{{"name": "{}", "stage": "run", "type": "boolean", "default": false}})",
                                i == 0 ? "" : ", ", switch_name(i));
    }
    return space_of(parameters);
  }();
  static const space::Space kLabels = [] {
    std::string values;
    for (int i = 0; i < 100; ++i) values += fmt::format(R"({}"{}")", i == 0 ? "" : ", ", i);
    return space_of(fmt::format(R"({{"name": "label", "stage": "run", "values": [{}], "default": "0"}})", values));
  }();
  return campaign.structured ? kStructured : kLabels;
}

/// The default first.
std::vector<space::Configuration> configurations_of(const SimulatedCampaign& campaign) {
  std::vector<space::Configuration> configurations = {space_of(campaign).default_configuration()};
  std::mt19937_64 random(campaign.seed);
  while (configurations.size() <= campaign.configurations) {
    space::Configuration each;
    if (!campaign.structured) each.set("label", space::Value(fmt::format("{}", configurations.size())));
    for (std::size_t i = 0; campaign.structured && i < kSwitches; ++i)
      each.set(switch_name(i), space::Value(random() % 2 == 0));
    if (std::ranges::find(configurations, each) == configurations.end()) configurations.push_back(std::move(each));
  }
  return configurations;
}

/// ln(T_default / T) of each.
std::vector<double> truths_of(const SimulatedCampaign& campaign,
                              const std::vector<space::Configuration>& configurations) {
  std::vector<double> truths(configurations.size(), campaign.others);
  truths[0] = 0;
  if (!campaign.structured) truths[1] = campaign.planted;
  for (std::size_t i = 0; campaign.structured && i < truths.size(); ++i)
    for (const std::size_t gaining : {0U, 1U})
      if (*configurations[i].find(switch_name(gaining)) == space::Value(true)) truths[i] += campaign.planted / 2;
  return truths;
}

/// `runs`: processes that the time rests on.
db::StoredTrial trial_of(std::size_t number, space::Configuration configuration, double log_time, int runs = 1) {
  db::StoredTrial trial;
  trial.id = static_cast<std::int64_t>(number) + 1;
  trial.trial.number = static_cast<std::int64_t>(number);
  trial.trial.outcome = space::Outcome::Ok;
  trial.trial.configuration = std::move(configuration);
  const double value = std::exp(log_time);
  trial.trial.estimate = space::Estimate{.value = value, .standard_error = kWithinProcess * value, .runs = runs};
  trial.trial.parts = space::Parts{.steady_step = value};
  return trial;
}

/// Chooses as finals do, with as many pairs as the defaults allow. The winner's place among the trials.
std::size_t choose(const SimulatedCampaign& campaign, const std::vector<db::StoredTrial>& trials,
                   const std::vector<double>& truths, EqualConfigurations& noise, SimulatedVerdict& simulated) {
  const tuner::VerifySettings verify;
  const double sd = campaign.paired ? noise.pair_sd() : noise.process_sd();
  const auto beliefs = tuner::believed_times(space_of(campaign), trials, sd);
  const auto finalists = tuner::choose_finalists(trials, beliefs, static_cast<std::size_t>(verify.finalists));
  if (finalists.size() < 2) return finalists.front().trial;
  auto race = tuner::race_between(finalists, verify.margin_percent, campaign.selection_pairs, campaign.seed);
  while (const auto pair = race.next())
    race.tell(truths[finalists[pair->first].trial] - truths[finalists[pair->second].trial] + noise.pair());
  simulated.processes += 2 * static_cast<std::size_t>(race.pairs());
  return finalists[tuner::winner_of(race, finalists, verify.margin_percent)].trial;
}

/// Each configuration measured once, as a search does; the default first.
std::vector<db::StoredTrial> measure_once(const SimulatedCampaign& campaign,
                                          const std::vector<space::Configuration>& configurations,
                                          const std::vector<double>& truths, EqualConfigurations& noise) {
  std::vector<db::StoredTrial> trials;
  if (campaign.paired) trials.push_back(trial_of(0, configurations[0], 0, static_cast<int>(configurations.size())));
  for (std::size_t i = trials.size(); i < configurations.size(); ++i)
    trials.push_back(trial_of(i, configurations[i], (campaign.paired ? noise.pair() : noise.alone()) - truths[i]));
  return trials;
}

void report(SimulatedVerdict& simulated, const measure::Comparison& comparison) {
  simulated.verdict = comparison.verdict;
  simulated.reported = comparison.log_ratio;
  simulated.low = std::log1p(std::max(comparison.low_percent, -99.999) / 100);
  simulated.high = std::log1p(comparison.high_percent / 100);
}

/// Fresh pairs of the winner with the default, at each of the looks, until there is a verdict.
void judge_fresh_pairs(SimulatedVerdict& simulated, EqualConfigurations& noise) {
  static const measure::ComparisonPolicy kPolicy = tuner::VerifySettings();
  static const auto kLooks = measure::plan_looks(kPolicy.pairs, kPolicy.most_pairs);
  std::vector<double> ratios;
  for (const measure::Look& look : kLooks) {
    while (static_cast<int>(ratios.size()) < look.pairs) ratios.push_back(simulated.truth + noise.pair());
    report(simulated,
           measure::compare(ratios, {.margin_percent = kPolicy.margin_percent, .confidence = look.confidence}));
    if (simulated.verdict != measure::Verdict::Undecided) break;
  }
  simulated.processes += 2 * ratios.size();
}

}  // namespace

SimulatedVerdict play_campaign(const SimulatedCampaign& campaign, EqualConfigurations& noise) {
  const auto configurations = configurations_of(campaign);
  const auto truths = truths_of(campaign, configurations);
  SimulatedVerdict simulated;
  const auto trials = measure_once(campaign, configurations, truths, noise);
  simulated.processes = campaign.paired ? 2 * trials.size() - 1 : trials.size();
  const std::size_t winner = choose(campaign, trials, truths, noise, simulated);
  if (winner == 0) return simulated;  // the default is the best: nothing is reported
  simulated.truth = truths[winner];
  simulated.chose_planted = truths[winner] == *std::ranges::max_element(truths);
  judge_fresh_pairs(simulated, noise);
  return simulated;
}

SimulatedVerdict play_repetition(const SimulatedCampaign& campaign, std::size_t repeats, EqualConfigurations& noise) {
  const std::vector<double> truths = truths_of(campaign, configurations_of(campaign));
  std::vector<std::vector<double>> rounds(campaign.configurations + 1);
  for (std::size_t round = 0; round < repeats; ++round)
    for (std::size_t i = 0; i < rounds.size(); ++i) rounds[i].push_back(noise.alone() - truths[i]);
  const auto sum = [](const std::vector<double>& values) {
    double total = 0;
    for (const double value : values) total += value;
    return total;
  };
  const auto smallest = std::ranges::min_element(rounds, {}, sum);
  const auto best = static_cast<std::size_t>(smallest - rounds.begin());
  SimulatedVerdict simulated{.truth = truths[best], .processes = repeats * rounds.size(), .chose_planted = best == 1};
  if (best == 0) return simulated;
  std::vector<double> ratios;
  for (std::size_t round = 0; round < repeats; ++round) ratios.push_back(rounds[0][round] - rounds[best][round]);
  report(simulated, measure::compare(ratios));
  if (repeats == 1) simulated.verdict = measure::Verdict::Faster;
  return simulated;
}

}  // namespace nocturne::test
