/// How often campaigns on a simulated cluster (simulated_cluster.hpp) find what is there, and how seldom what is not;
/// what the coordinator costs; and what pairs of several nodes say where nodes favour one side.
///
///   nocturne-cluster-survey [CAMPAIGNS] [FIRST-SEED]
///   nocturne-cluster-survey --cost [CAMPAIGNS] [FIRST-SEED]      what the coordinator costs, alone: for a profiler
///
/// Prints two tables; a thousand campaigns a row take an hour or two. The same seeds give the same tables, but for the
/// CPU time. Exit code: 0 campaigns keep their promises, 1 they do not (a sentence says where), 2 wrong usage.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "measure/comparison/sequential_comparison.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/campaign/equal_configurations.hpp"
#include "tests/tuner/campaign/simulated_cluster.hpp"

namespace nocturne::test {
namespace {

constexpr double kMostWrong = 0.05;  // of all campaigns: FASTER, and is not
/// Of one core, with 64 nodes and 10 s a trial. With assertions and little optimisation, as tests are built, it is
/// 1.6 %, of which the loop with a strategy that costs nothing takes 0.6.
constexpr double kMostCpu = 0.02;
constexpr int kComparisons = 4000;  // a row of the first table

/// A share that chance alone may have moved by three standard deviations.
double chance(double share, int of) {
  return of == 0 ? 1 : 3 * std::sqrt(share * (1 - share) / of);
}

struct Row {
  std::string what;
  ClusterTraits traits;
  bool promises_cpu = false;
};

struct Sums {
  int campaigns = 0, found = 0, wrong = 0, differs = 0, three = 0, told_twice = 0, sessions = 0;
  std::int64_t trials = 0;
  std::size_t pairs = 0;
  double cpu_seconds = 0;

  void add(const ClusterCampaign& campaign) {
    ++campaigns;
    const bool faster = campaign.verdict == "faster";
    found += faster && campaign.truth > 0 ? 1 : 0;
    wrong += faster && campaign.truth <= 0 ? 1 : 0;
    differs += campaign.differs ? 1 : 0;
    three += campaign.nodes == 3 ? 1 : 0;
    told_twice += campaign.told_twice > 0 ? 1 : 0;
    sessions += campaign.sessions;
    trials += campaign.trials;
    pairs += campaign.pairs;
    cpu_seconds += campaign.cpu_seconds;
  }
  [[nodiscard]] double share(int part) const { return static_cast<double>(part) / campaigns; }
  [[nodiscard]] double cpu_of_trial() const { return cpu_seconds / static_cast<double>(trials); }
  /// Of one core, where each node gives an answer every ten seconds.
  [[nodiscard]] double cpu_share(std::size_t nodes) const { return cpu_of_trial() * static_cast<double>(nodes) / 10; }
};

Sums simulate(const Row& row, int campaigns, std::uint64_t first_seed) {
  Sums sums;
  ClusterTraits traits = row.traits;
  for (int i = 0; i < campaigns; ++i) {
    const TemporaryFolder folder;
    traits.seed = first_seed + static_cast<std::uint64_t>(i);
    sums.add(simulate_campaign(traits, folder.path()));
  }
  std::cout << fmt::format("| {} | {} | {:.1f} % | {:.1f} % | {:.1f} % | {:.1f} | {:.2f} | {:.2f} ms | {:.1f} % |\n",
                           row.what, campaigns, 100 * sums.share(sums.found), 100 * sums.share(sums.wrong),
                           100 * sums.share(sums.differs), static_cast<double>(sums.pairs) / campaigns,
                           static_cast<double>(sums.sessions) / campaigns, 1000 * sums.cpu_of_trial(),
                           100 * sums.cpu_share(row.traits.nodes))
            << std::flush;
  return sums;
}

bool complain(const std::string& sentence) {
  std::cerr << sentence << '\n';
  return false;
}

/// Whether what every row promises is kept.
bool keeps(const Row& row, const Sums& sums) {
  bool kept = true;
  if (sums.wrong > (kMostWrong + chance(kMostWrong, sums.campaigns)) * sums.campaigns)
    kept = complain(fmt::format("{}: too many false winners", row.what));
  if (sums.told_twice > 0) kept = complain(fmt::format("{}: a trial was told twice", row.what));
  if (row.promises_cpu && sums.cpu_share(row.traits.nodes) > kMostCpu)
    kept = complain(fmt::format("{}: the coordinator takes more than {:.0f} % of a core", row.what, 100 * kMostCpu));
  return kept;
}

void begin_table() {
  std::cout << "\n| cluster | campaigns | found FASTER | FASTER, and is not | gain said to differ by node | pairs | "
               "sessions | CPU a trial | of one core |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
}

Row nothing_to_find() {
  return {.what = "64 nodes, nothing to find", .traits = {}, .promises_cpu = true};
}

Row loop_alone() {
  return {.what = "64 nodes, a strategy that costs nothing", .traits = {.strategy = "random"}};
}

bool survey_cost(int campaigns, std::uint64_t first_seed) {
  begin_table();
  bool kept = true;
  for (const Row& row : {nothing_to_find(), loop_alone()})
    kept = keeps(row, simulate(row, campaigns, first_seed)) && kept;
  return kept;
}

bool survey_campaigns(int campaigns, std::uint64_t first_seed) {
  const double gain = std::log1p(0.05);
  const auto planted = [&](std::size_t pair_nodes) {
    return Row{.what = fmt::format("64 nodes, {} for pairs, 5 % planted", pair_nodes),
               .traits = {.pair_nodes = pair_nodes, .planted = gain}};
  };
  begin_table();
  bool kept = true;
  for (const Row& row :
       {nothing_to_find(), Row{.what = "the same, one of them bad", .traits = {.bad_node = true}},
        Row{.what = "the same, nodes favour configurations by 1 %", .traits = {.interaction_sd = 0.01}}})
    kept = keeps(row, simulate(row, campaigns, first_seed)) && kept;
  const Row over_nodes = planted(64), alone = planted(1);
  const Sums of_nodes = simulate(over_nodes, campaigns, first_seed), of_one = simulate(alone, campaigns, first_seed);
  kept = keeps(over_nodes, of_nodes) && keeps(alone, of_one) && kept;
  const double less = of_one.share(of_one.found) - of_nodes.share(of_nodes.found);
  if (less > std::sqrt(2.0) * chance(of_one.share(of_one.found), campaigns) + 0.02)
    kept = complain("on three nodes a gain of 5 % is found less often than on one");
  const Row loop = loop_alone();
  kept = keeps(loop, simulate(loop, std::max(1, campaigns / 10), first_seed)) && kept;
  const Row thousand{.what = "1000 nodes", .traits = {.nodes = 1000, .planted = gain, .trials = 1500}};
  return keeps(thousand, simulate(thousand, std::max(1, campaigns / 250), first_seed)) && kept;
}

/// What a comparison by itself says, with the policy of a campaign.
measure::Verdict judge(int nodes, double gain, double interaction_sd, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  RecordedNoise noise(seed);
  std::vector<double> own;
  for (int node = 0; node < nodes; ++node)
    own.push_back(gain + interaction_sd * std::normal_distribution<double>()(random));
  measure::SequentialComparison comparison(std::vector<std::vector<double>>(1));
  for (std::size_t pair = 0; comparison.next(); ++pair) {
    const std::size_t node = pair % own.size();
    comparison.tell(0, own[node] + noise.pair(), nodes > 1 ? fmt::format("n{}", node) : std::string());
  }
  const auto& judged = comparison.members().front().comparison;
  return judged ? judged->verdict : measure::Verdict::Undecided;
}

void survey_pairs(std::uint64_t first_seed) {
  std::cout
      << "| nodes | favour a side by (sd) | gain | FASTER | SLOWER | SAME |\n| --- | --- | --- | --- | --- | --- |\n";
  for (const double gain : {0.0, 0.03, 0.05}) {
    for (const double interaction : {0.0, 0.005, 0.01, 0.02, 0.05}) {
      for (const int nodes : {1, 3}) {
        if (nodes == 1 && interaction > 0) continue;
        std::vector<int> counts(4, 0);
        for (int i = 0; i < kComparisons; ++i)
          ++counts[static_cast<std::size_t>(
              judge(nodes, gain, interaction, first_seed + static_cast<std::uint64_t>(i)))];
        const auto percent = [&](measure::Verdict verdict) {
          return 100.0 * counts[static_cast<std::size_t>(verdict)] / kComparisons;
        };
        std::cout << fmt::format("| {} | {:g} % | {:g} % | {:.1f} % | {:.1f} % | {:.1f} % |\n", nodes,
                                 100 * interaction, 100 * gain, percent(measure::Verdict::Faster),
                                 percent(measure::Verdict::Slower), percent(measure::Verdict::Same));
      }
    }
  }
}

}  // namespace
}  // namespace nocturne::test

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const bool cost = !words.empty() && words.front() == "--cost";
  if (cost) words.erase(words.begin());
  const int campaigns = !words.empty() ? static_cast<int>(std::strtol(words[0].c_str(), nullptr, 10)) : 100;
  if (campaigns < 1) {
    std::cerr << "nocturne-cluster-survey [--cost] [CAMPAIGNS] [FIRST-SEED]\n";
    return 2;
  }
  const std::uint64_t first_seed = words.size() > 1 ? std::strtoull(words[1].c_str(), nullptr, 10) : 1;
  try {
    if (cost) return nocturne::test::survey_cost(campaigns, first_seed) ? 0 : 1;
    nocturne::test::survey_pairs(first_seed);
    return nocturne::test::survey_campaigns(campaigns, first_seed) ? 0 : 1;
  } catch (const std::exception& exception) {
    std::cerr << "nocturne-cluster-survey: " << exception.what() << '\n';
    return 1;
  }
}
