/// How often a planted gain is found, at what cost, and how true the reported one is: the way of a campaign, a race (by
/// which campaigns do not choose yet) and a fixed number of repetitions, on the recorded noise of a real machine
/// (equal_configurations.json).
///
///   nocturne-verdict-survey [CAMPAIGNS] [FIRST-SEED]
///
/// Prints a table; 2,000 campaigns a row take some seconds. Nothing is measured: the same seeds give the same table.
/// Exit code: 0 campaign and race keep their promises, 1 one of them does not (a sentence says where), 2 wrong usage.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "tests/tuner/campaign/simulated_finals.hpp"

namespace nocturne::test {
namespace {

using Play = std::function<SimulatedVerdict(const SimulatedCampaign&, EqualConfigurations&)>;

constexpr double kMostWrong = 0.05;     // of all campaigns: FASTER, and is not
constexpr double kLeastCovered = 0.95;  // of all intervals that are reported

/// A share that chance alone may have moved by three standard deviations.
double process_sd(double share, int of) {
  return of == 0 ? 1 : 3 * std::sqrt(share * (1 - share) / of);
}

/// Prints it. True where what is reported is seldom wrong, and true as often as is said.
bool row(const std::string& way, double gain_percent, const Play& play, int campaigns, std::uint64_t first_seed) {
  SimulatedCampaign campaign{.planted = std::log1p(gain_percent / 100)};
  int chosen = 0, found = 0, wrong = 0, reports = 0, covered = 0;
  double ratio = 0, processes = 0;
  bool bounded = false;  // one repetition has no interval
  for (int i = 0; i < campaigns; ++i) {
    campaign.seed = first_seed + static_cast<std::uint64_t>(i);
    RecordedNoise noise(campaign.seed);
    const SimulatedVerdict simulated = play(campaign, noise);
    processes += static_cast<double>(simulated.processes);
    chosen += simulated.chose_planted ? 1 : 0;
    const bool faster = simulated.verdict == measure::Verdict::Faster;
    found += faster && simulated.truth > 0 ? 1 : 0;
    wrong += faster && simulated.truth <= 0 ? 1 : 0;
    if (simulated.low == simulated.high) continue;  // the default won, or there is no interval
    ++reports;
    covered += simulated.low <= simulated.truth && simulated.truth <= simulated.high ? 1 : 0;
    bounded = bounded || std::isfinite(simulated.high);
    ratio += std::exp(simulated.reported - simulated.truth);
  }
  const auto share = [](int part, int whole) { return whole == 0 ? 0.0 : 100.0 * part / whole; };
  std::cout << fmt::format("| {} | {:g} % | {:.0f} % | {:.1f} % | {:.1f} % | {:.0f} | {} | {:.3f} |\n", way,
                           gain_percent, share(chosen, campaigns), share(found, campaigns), share(wrong, campaigns),
                           processes / campaigns, bounded ? fmt::format("{:.1f} %", share(covered, reports)) : "none",
                           reports == 0 ? 0 : ratio / reports);
  return wrong <= (kMostWrong + process_sd(kMostWrong, campaigns)) * campaigns &&
         covered >= (kLeastCovered - process_sd(kLeastCovered, reports)) * reports;
}

int survey(int campaigns, std::uint64_t first_seed) {
  bool kept = true;
  std::cout << "| way | planted | chosen | found FASTER | FASTER, and is not | processes | interval holds the truth | "
               "reported / true |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const double gain : {0.0, 1.0, 2.0, 5.0, 10.0, 20.0}) {
    for (const auto& [way, play] :
         {std::pair<std::string, Play>{"the campaign's: finalists, fresh pairs", play_campaign},
          {"a race, fresh pairs", play_race}}) {
      if (row(way, gain, play, campaigns, first_seed)) continue;
      std::cerr << fmt::format("with a planted gain of {:g} % this way does not keep its promises: {}\n", gain, way);
      kept = false;
    }
    for (const std::size_t repeats : {1U, 3U, 10U}) {
      (void)row(
          fmt::format("each {} times", repeats), gain,
          [repeats](const SimulatedCampaign& campaign, EqualConfigurations& noise) {
            return play_repetition(campaign, repeats, noise);
          },
          campaigns, first_seed);
    }
  }
  return kept ? 0 : 1;
}

}  // namespace
}  // namespace nocturne::test

int main(int argc, char** argv) {
  const int campaigns = argc > 1 ? static_cast<int>(std::strtol(argv[1], nullptr, 10)) : 2000;
  if (campaigns < 1) {
    std::cerr << "nocturne-verdict-survey [CAMPAIGNS] [FIRST-SEED]\n";
    return 2;
  }
  try {
    return nocturne::test::survey(campaigns, argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
  } catch (const std::exception& exception) {
    std::cerr << "nocturne-verdict-survey: " << exception.what() << '\n';
    return 1;
  }
}
